"""Lines of Python in the texts of torch: stack traces of nodes, and errors that quote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PureWindowsPath

_FRAME = re.compile(r'^\s*File "(?P<file>[^<].*)", line (?P<line>\d+)', re.MULTILINE)  # <...> is generated code
_OF_TORCH = re.compile(r"[\\/](site|dist)-packages[\\/]torch[\\/]")
_NODE = re.compile(r"(executing|translating) (node )?%(?P<name>\w+)")


def line(trace: str | None, node: str) -> str:
    """Return the last line outside torch of a stack trace, as ``file.py:12``; without one, the node."""
    frames = [(frame["file"], frame["line"]) for frame in _FRAME.finditer(trace or "")]
    outside = [frame for frame in frames if not _OF_TORCH.search(frame[0])] or frames
    if not outside:
        return f"node[{node}]"
    file, number = outside[-1]
    return f"{PureWindowsPath(file).name}:{number}"  # which takes both separators


def place(name: str, text: str, traces: Mapping[str, str]) -> str:
    """Return the place that an error of an exporter is about: a line behind ``name``, a node, or only the file.

    ``traces`` are those of the nodes by name; an error may quote that of a node which the exporter made.
    """
    node = _NODE.search(text)
    return f"{name}:{line(traces.get(node['name']) or text[node.end() :], node['name'])}" if node else name
