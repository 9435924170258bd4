"""Outputs of two models compared: a ladder of comparisons, and the tolerances of all."""
