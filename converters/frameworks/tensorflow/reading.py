"""The reading of SavedModels, Keras files and frozen graphs."""

from __future__ import annotations

from ...sources.frameworks import Reading
from .tensorflow_files import described, function, parts
from .tensorflow_resizes import load

READING = Reading(load=load, describe=described, function=function, parts=parts)
