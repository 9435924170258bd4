"""File access: which files are accepted, how files are written, and how much memory they may need."""
