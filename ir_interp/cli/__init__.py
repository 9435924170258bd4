"""The command line, ``ir-interp``.

``main`` is the program. Its commands: ``diagnosis`` has audit, fix and reproduce, ``conversion`` convert and compare,
``explanation`` inspect, explain and plot, ``images`` run, identify and preprocess. ``command_line`` makes their flags,
completion and help of the declared options; ``printed_results`` and ``terminal`` show results.
"""
