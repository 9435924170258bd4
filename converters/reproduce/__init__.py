"""Faults of runtimes, each as a folder that reproduces it: the smallest model, input, expected output, a script.

``reproduction`` writes the folder, for a resize of a model or one of the ``known_faults``. ``conformance_kit`` writes
many small models with expectations, and ``kit_runner``, which needs only NumPy and a runtime, beside them.
"""
