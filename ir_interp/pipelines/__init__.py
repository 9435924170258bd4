"""Preprocessing pipelines as data: the steps between an image and the input of a model.

``steps`` has every step, ``pipeline`` their list, ``rules`` the rules of sizes and alpha. ``pipeline_source`` reads any
source; ``huggingface`` and ``torchvision_transforms`` read configurations of these. ``source_code`` writes a pipeline
as code.
"""
