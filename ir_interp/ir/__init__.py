"""OpenVINO IR files: XML, layers, constants, and the resizes among them.

``ir_files`` reads a file as layers and the edges between them. ``interpolates`` finds its resizes, with the constants
that determine their sizes. ``interpolate_dialect`` has the meaning of their attributes, by release of OpenVINO.
"""
