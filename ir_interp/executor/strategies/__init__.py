"""The strategies by which NumPy alone computes a resize; choice.py says which serves which case."""
