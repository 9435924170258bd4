"""Sources: the reader of each kind of file, and summaries of models.

``readers`` reads the resizes of any file, framework models by the ``READING`` of their folder. ``model_description``
and ``model_summary`` hold everything else that reports show.
"""
