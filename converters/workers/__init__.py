"""Other processes: a pool of them, and how each is started."""
