"""From IR to ONNX: ``one_op`` takes nets of a single Interpolate, and pasted layers."""
