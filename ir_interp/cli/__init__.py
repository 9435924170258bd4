"""The command line, ``ir-interp``: one file a verb."""
