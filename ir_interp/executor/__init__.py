"""From taps to numbers: the resize in NumPy and in compiled loops.

``resize`` prepares and runs. ``definition`` has the definition of every float. ``cases`` has what a resize needs, and
which of the ``loop_calls`` compute it, for ``loop_runner``; ``loops/`` has the loops. NumPy alone takes the first of
``strategies`` that accepts a case; they are in ``byte_proposals``, ``library_sums``, ``ordered_sums`` and ``tiles``.
"""
