"""The options of all commands and functions, each declared once.

``declaration`` has the kinds of values and ``option``, which declares one as the field of a dataclass.
``shared_options`` has those of several commands, and how images become inputs of models. ``model_options`` has the
options of commands on models, ``resize_options`` of commands on one resize, a picture or a pipeline.
"""
