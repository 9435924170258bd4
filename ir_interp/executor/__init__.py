"""From taps to numbers: the resize in NumPy."""
