"""Arrays in tiles, windows and threads, and the storage of results."""
