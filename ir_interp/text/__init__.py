"""Text from files and for files: numbers, names, and quoting for each output language."""
