"""How runtimes compute integers: their weights and the steps of their sums."""
