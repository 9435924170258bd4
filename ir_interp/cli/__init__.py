"""The command line, ``ir-interp``: one file per command."""
