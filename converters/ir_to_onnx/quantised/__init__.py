"""Quantised layers: ranges, scales and zero points, and integers where ONNX has them."""
