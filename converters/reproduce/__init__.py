"""Faults of runtimes, each as a folder that shows it: the smallest model, its input, what is right, and a script."""
