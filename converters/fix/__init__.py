"""Mend what an audit calls an exporter's likely mistake, in an ONNX model, and nothing else."""
