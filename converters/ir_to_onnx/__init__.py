"""From IR to ONNX: whole models, by a table of emitters per family of layers; and single resizes."""
