"""Outputs compared: exactly, by rows, stretch by stretch, level by level."""
