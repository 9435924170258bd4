"""Exported programs of PyTorch."""
