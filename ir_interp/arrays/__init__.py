"""Containers of pixels: NumPy, Dask, xarray, torch and Pillow; and the axes that a call resizes."""
