"""The public functions of ``ir_interp``, with every keyword spelled out and checked; modules elsewhere do the work.

``images`` has those on images and on one resize, ``models`` those on models.
"""
