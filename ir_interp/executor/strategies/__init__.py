"""The strategies by which NumPy alone computes a resize; choice.py chooses one for each case."""
