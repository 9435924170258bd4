"""Thousands of models: one record for each as it finishes, on processes or a cluster, and one summary at the end."""
