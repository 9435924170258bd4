"""The layers of an IR as ONNX nodes: one file a family of layers."""
