"""Which source becomes which destination, and by which path."""
