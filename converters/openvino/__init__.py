"""OpenVINO graphs and IR files, built from ONNX models and from single resizes."""
