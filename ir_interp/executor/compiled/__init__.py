"""Compiled loops: which one computes a resize, its arguments, and its execution. Imports no numba."""
