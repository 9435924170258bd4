"""OpenVINO IR files: XML, layers, constants, and the resizes among them."""
