"""From a spec and a shape to the taps of each axis: sizes, coordinates, kernels, weights."""
