"""From a spec and a shape to taps: the source pixels of each output, and their weights.

``taps`` has the plan of each axis and its taps, by ``formulas`` of coordinates and kernels and by ``library_weights``.
``library_passes`` has integer sums of image libraries; ``integer_sums`` those of runtimes, and exact sums of a piece.
``float_arithmetic`` has functions that every processor rounds alike.
"""
