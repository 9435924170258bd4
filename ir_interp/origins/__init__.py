"""Identification of the library call that resized an image, and of the steps around it."""
