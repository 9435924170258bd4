"""Facts about each runtime, stated once: what it accepts, which resize it computes, and how it is run.

``outcome`` has the records, and what runtimes share about a node. ``onnxruntime`` (with ``onnxruntime_providers``),
``openvino``, ``tensorrt``, ``litert`` and ``reference`` hold a runtime each, with its table of releases; ``others/``
one file for each further runtime that reads ONNX, built on ``image_runtimes``. ``execution`` is about any run.
"""
