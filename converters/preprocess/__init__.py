"""The preprocessing of the training in front of a model, as nodes that take the raw image."""
