"""Arithmetic of image libraries: weights, passes, the order of sums, and refusals."""
