"""Conversion of a source file into a destination file, and the route between them."""
