"""Resizes of arrays larger than memory, which are read, computed and written chunk by chunk."""
