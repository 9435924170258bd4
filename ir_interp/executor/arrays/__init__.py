"""Arrays in tiles, windows and threads, and how results are stored."""
