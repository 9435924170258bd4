"""Faults of runtimes, each as a folder that reproduces it: the smallest model, input, expected output, a script."""
