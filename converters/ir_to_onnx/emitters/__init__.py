"""The layers of an IR as ONNX nodes: one file per family of layers.

Each module ends with its ``TABLE``, the emitter of each layer type; ``onnx_model`` finds these tables. An emitter gets
the graph and the layer, adds nodes, and returns the names of its outputs. ``elementwise`` and ``shape_layers`` have
the simplest; ``refused`` has the types that ONNX cannot express.
"""
