"""The options of all commands and functions, each declared once."""
