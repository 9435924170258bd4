"""The reading of Paddle programs."""

from __future__ import annotations

from ...sources.frameworks import Reading
from .paddle_files import described, function, weights
from .paddle_resizes import load

READING = Reading(load=load, describe=described, function=function, parts=lambda path: [path, weights(path)])
