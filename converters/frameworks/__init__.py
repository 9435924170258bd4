"""Frameworks whose models are sources, each a folder of its own; ``sources.frameworks`` finds them.

A folder has three modules: ``reading`` declares a ``READING``, ``conversion`` yields the model that stands for a
source, and ``exporters`` audits its resizes, and names the exporters that are asked about them.
"""
