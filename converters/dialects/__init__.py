"""The attributes of resizes in each format: one file per dialect, which docs/adding-a-dialect.md describes.

Each module is named as its dialect and has a ``DIALECT``: the vocabulary of a format, and the function that reads its
attributes as a ``ResizeSpec``. ``sources.registry`` finds them. OpenVINO's dialect belongs to ``ir_interp.ir``.
"""
