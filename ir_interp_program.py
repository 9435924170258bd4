"""Where the program ``ir-interp`` begins: outside its package, whose imports take a while, so that Ctrl-C is heard."""

import os
import signal


def entry() -> None:
    """Run the program; until it is imported, an interrupt ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # which a shell's background job has not
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    from ir_interp.cli.main import entry as run

    run()
