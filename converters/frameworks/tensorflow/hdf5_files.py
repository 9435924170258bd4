"""HDF5 files of Keras: a link, or a dataset of one, may name any other file, whose content would become weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError


def model_config(path: Path, name: str) -> str | bytes | None:
    """Return the configuration that a file holds beside its weights; None if it has none.

    Raises ReadError, under the ``name`` of the model, for weights that lie in another file.
    """
    import h5py

    with h5py.File(path, "r") as file:
        outside = file.visititems_links(_external_link) or file.visititems(_external_data)
        if outside is not None:
            raise ReadError(f"{outside!r} lies in another file, which is not read; expected all weights inside", name)
        config: str | bytes | None = file.attrs.get("model_config")
        return config


def _external_link(place: str, link: Any) -> str | None:
    import h5py

    return place if isinstance(link, h5py.ExternalLink) else None


def _external_data(place: str, item: Any) -> str | None:
    import h5py

    is_outside = isinstance(item, h5py.Dataset) and (item.external or item.is_virtual)
    return place if is_outside else None
