"""Run ``ir-interp`` as ``python -m ir_interp``."""

from ir_interp.cli.main import entry

entry()
