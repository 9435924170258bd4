"""The preprocessing of the training in front of a model, as nodes that take the raw image.

``conversion`` proves and writes files, ``preprocessed_model`` puts the nodes in front of a model, and ``step_nodes``
has a form for each step of a pipeline. Resizes are ``fixed_size_resize`` for images of static size, and
``any_size_resize``, in float64 or float32 nodes, for others.
"""
