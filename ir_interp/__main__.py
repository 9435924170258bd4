"""``python -m ir_interp`` is ``ir-interp``."""

from ir_interp.cli.main import entry

entry()
