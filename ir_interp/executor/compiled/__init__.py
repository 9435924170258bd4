"""Which compiled loop computes a resize, with which arguments, and how it is run. Imports no numba."""
