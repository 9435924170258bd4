"""What holds pixels: arrays of NumPy, Dask, xarray and torch, images of Pillow, and what a call says of them."""
