"""From a spec and a shape to taps: the source pixels of each output, and their weights."""
