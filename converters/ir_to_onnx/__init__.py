"""IR to ONNX: whole models, by a table of emitters for each family of layers; and single resizes.

``onnx_model`` writes a file: it takes the layers of ``layer_passes`` in order and gives each, as an ``Op`` of
``layers``, to the emitter of its type in ``emitters/``. ``small_weights`` and ``integer_layers`` keep integers of
quantised models; ``states`` turns states into inputs and outputs first.
"""
