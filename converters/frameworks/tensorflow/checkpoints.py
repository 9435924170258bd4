"""Variables of SavedModels, restored one by one: TensorFlow restores all together, as often as a model lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

_OBJECTS, _VALUE, _SETTINGS = "_CHECKPOINTABLE_OBJECT_GRAPH", "VARIABLE_VALUE", "OBJECT_CONFIG_JSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint of variables only: its prefix, and the key of each variable by the number of its object."""

    prefix: str
    keys: dict[int, str]

    def values(self, model: Any, variables: list[Any]) -> Iterator[tuple[Any, Callable[[], Any]]]:
        """Yield some variables of a model, each with the function that reads its value."""
        import tensorflow

        reader, chosen = tensorflow.train.load_checkpoint(self.prefix), {id(variable) for variable in variables}
        for number, thing in tensorflow.train.CheckpointView(self.prefix).match(model).items():
            if id(thing) in chosen:
                yield thing, partial(reader.get_tensor, self.keys[number])


def checkpoint_of(folder: Path) -> Checkpoint | None:
    """Return the checkpoint of a SavedModel; None if it is of TensorFlow 1, or holds more than variables."""
    import tensorflow
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    prefix = folder / "variables" / "variables"
    if not prefix.with_suffix(".index").is_file():
        return None
    reader = tensorflow.train.load_checkpoint(str(prefix))
    if not reader.has_tensor(_OBJECTS):
        return None
    objects = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(_OBJECTS))
    entries = [
        (number, entry)
        for number, thing in enumerate(objects.nodes)
        for entry in thing.attributes
        if entry.name != _SETTINGS
    ]
    if any(entry.name != _VALUE for _, entry in entries):
        return None
    return Checkpoint(prefix=str(prefix), keys={number: entry.checkpoint_key for number, entry in entries})
