"""Places in a clone."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
TESTS = ROOT / "tests"
REAL_IRS = Path(os.environ.get("IR_INTERP_REAL_IRS", ROOT.parent / "shared" / "models" / "ir"))
"""Real IRs, which no package carries."""
