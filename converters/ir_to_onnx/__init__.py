"""IR to ONNX: whole models, by a table of emitters for each family of layers; and single resizes."""
