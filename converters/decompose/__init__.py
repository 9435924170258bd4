"""A resize as primitive operations where no attributes express it: the same for every kind of graph.

Start with ``decomposed_resize``, which chooses the operations of each axis. ``taps`` applies the taps of one axis, and
computes those of dynamic axes as nodes; ``integer_sums`` has the integer steps of runtimes. All of them write to a
``tensor.Tensor``, which has NumPy's operators and adds nodes to the graph of an ONNX model, an IR or a TensorRT
network.
"""
