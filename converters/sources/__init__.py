"""Sources: the reader of each kind of file, layers as JSON, and summaries of models.

``readers`` reads the resizes of any file, framework models by the ``READING`` of their folder. ``registry`` finds the
dialects and reads layers as JSON. ``model_description`` and ``model_summary`` hold everything else that reports show.
"""
