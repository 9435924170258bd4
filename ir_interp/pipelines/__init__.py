"""Preprocessing pipelines as data: what happens to an image before it enters a model."""
