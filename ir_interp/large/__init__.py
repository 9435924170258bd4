"""Resizes of arrays larger than memory, which are read, computed and written chunk by chunk.

``stores`` resizes one image on disk to another, within a budget of memory. ``layout`` has the blocks of an output and
the chunks under them, for Dask arrays, too. ``zarr_arrays``, ``store_files``, ``geotiff`` and ``microscopy`` read and
write.
"""
