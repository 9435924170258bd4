"""How image libraries compute: their weights, the passes and the order of their sums, and what they refuse."""
