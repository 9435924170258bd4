"""Sentences, tables and pictures of a resize.

``explanation`` has the taps of one resize by output, ``figures`` draws them. ``image_arrays`` reads and writes arrays
and images; ``likeness`` resizes images as libraries do, and measures how far two of these differ.
"""
