"""ONNX files and graphs: reading them, finding their resizes, writing them."""
