"""Frameworks whose models are sources, each a folder of its own; to add one, nothing else is changed but its extra.

A folder declares a ``FRAMEWORK`` in its ``__init__``, which ``ir_interp.files.kinds`` reads on every start. It has
three modules (docs/adding-a-framework.md): ``reading`` with a ``READING``, ``conversion`` with the context manager
``intermediate`` of the model that stands for a source, and ``exporters`` with ``EXPORTERS`` by name and their
``verdicts`` on each resize.
"""

from ir_interp.files import kinds as kinds  # it reads the declarations, so it comes before any of the folders
