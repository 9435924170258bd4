"""Frameworks whose models are sources, each a folder of its own; nothing else has to be changed to add one.

A folder declares a ``FRAMEWORK`` in its ``__init__``, which ``ir_interp.files.frameworks`` reads on every start. It has
three modules: ``reading`` with a ``READING``, ``conversion``, which yields the model that stands for a source, and
``exporters``, which audits its resizes, and names the exporters that are asked about them.
"""
