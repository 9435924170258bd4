"""Identification of the library call that resized an image, and of the steps around it.

``search`` tries all known calls, alone and with further steps. ``layouts`` has the layouts of a resized image and the
calls, ``further_steps`` finds crops, factors, letterboxes and earlier resizes. ``candidates`` has the image pairs and
the calls that fit them.
"""
