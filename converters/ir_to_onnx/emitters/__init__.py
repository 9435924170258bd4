"""The layers of an IR as ONNX nodes: one file per family of layers."""
