"""Entry point of ``ir-interp``, outside its package, whose imports take a while: Ctrl-C works from the start."""

import os
import signal


def entry() -> None:
    """Run the program; until it is imported, an interrupt ends it silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in a shell's background job
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    from ir_interp.cli.main import entry as run

    run()
