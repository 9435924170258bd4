"""Integer arithmetic of runtimes: weights, and the steps of sums."""
