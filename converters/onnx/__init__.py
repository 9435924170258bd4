"""ONNX files and graphs: reading them, finding their resizes, writing them.

``onnx_files`` reads models, ``resize_nodes`` finds their resizes with the help of ``static_values``, and
``neighbours`` tells how surrounding nodes affect one. ``onnx_graph`` and ``operators`` build graphs and write files;
``resize_form`` builds a resize. ``low_precision`` and ``byte_products`` are about models of few bits.
"""
