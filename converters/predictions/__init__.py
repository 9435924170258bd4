"""Predictions of how a runtime computes a resize, made without running it."""
