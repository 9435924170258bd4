"""From a spec and a shape to the taps of each axis: lengths, coordinates, kernels, weights."""
