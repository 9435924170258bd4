"""Preprocessing pipelines as data: the steps between an image and the input of a model."""
