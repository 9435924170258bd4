"""ONNX models rewritten for a target: only the resizes change."""
