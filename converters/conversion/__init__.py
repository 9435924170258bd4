"""Conversion of a source file into a destination file, and the route between them.

``routes`` has every route from one kind of file to another, and which options apply to it. ``converting`` follows one,
proves the result and reports it; ``next_steps`` names the command that helps after a finding.
"""
