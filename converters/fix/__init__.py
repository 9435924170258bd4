"""Fix an exporter's likely mistakes in an ONNX model, and change nothing else."""
