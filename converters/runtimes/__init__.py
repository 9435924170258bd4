"""Facts about each runtime, stated once: what it accepts, which resize it computes, and how it is run.

``runtime`` has the record of a runtime and the table of all; ``outcome`` the outcome of a resize, and what runtimes
share about a node. Then follows a module a runtime, discovered automatically: ``onnxruntime`` (with
``onnxruntime_providers`` and ``onnxruntime_optimiser``), ``openvino`` (with ``openvino_layers``), ``tensorrt``,
``litert``, ``reference``, and those built on ``image_runtimes``. ``execution`` is about any run.
"""
