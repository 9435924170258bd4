"""Ask ``identify`` about random pairs that the installed image libraries make, and count who is wrongly sure.

``python -m tests.sweeps.identify --cases 200``; exits with 1 where one is, or where the right one is left out.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np

import ir_interp
from ir_interp.library_registry import get, names
from ir_interp.views.library_calls import effective
from tests.support.libraries import calls, lengths
from tests.support.sweeps import options

_MODULES = {"pillow": "PIL", "opencv": "cv2"}


def main() -> int:
    """Print how many of the pairs were named alone, among others, or wrongly."""
    arguments = options(__doc__).parse_args()
    rng = np.random.default_rng(arguments.seed)
    installed = [name for name in names() if find_spec(_MODULES.get(name, name))]
    every = (call for name in installed for call in calls(name))
    known = [call for call in every if call.dtype == "uint8" and call.channels in (1, 3, 4) and not call.boxed]
    count = {"sure": 0, "among several": 0, "wrongly sure": 0, "left out": 0}
    done = 0
    while done < arguments.cases:
        call = known[int(rng.integers(len(known)))]
        height, width, rows, columns = lengths(rng)
        if (height, width) == (rows, columns) or (call.library == "torch" and columns == 1):
            continue
        x = call.image(rng, height, width)
        y = call.run(x, rows, columns)
        if x.ndim == 4:  # [batch, channels, height, width]
            x, y = (np.ascontiguousarray(np.moveaxis(each[0], 0, -1)) for each in (x, y))
            x, y = (each[:, :, 0] if call.channels == 1 else each for each in (x, y))
        found = ir_interp.identify([(x, y)])
        own = effective(call.spec, [(x, y)])
        version = get(call.library).version()
        right = any(ir_interp.load(text)[0].spec == own for each in found.fitting for text in each.calls)
        kind = "left out" if not right else "sure" if found.is_sure else "among several"
        if found.is_sure and not right:
            kind = "wrongly sure"
        if not right:
            print(f"{kind}: {call} {version}, {height}x{width} to {rows}x{columns}: {found.text}")
        count[kind] += 1
        done += 1
    print(", ".join(f"{name} {number}" for name, number in count.items()))
    return int(bool(count["wrongly sure"] or count["left out"]))


if __name__ == "__main__":
    sys.exit(main())
