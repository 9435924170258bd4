"""Text from files and for files: numbers, names, and quoting for each language that is written."""
