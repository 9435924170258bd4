"""OpenVINO graphs and IR files: building them of ONNX models and of single resizes."""
