"""Models run in their own runtimes, and compared."""
