"""What griffe cannot see in the sources: where ``converters`` is imported from, and the values of enums."""

from __future__ import annotations

from enum import EnumType
from typing import Any

import griffe

import ir_interp


class Sources(griffe.Extension):
    """Show the sources as Python sees them."""

    def on_alias_instance(self, *, alias: griffe.Alias, **_: Any) -> None:
        """Name modules of ``converters`` as they are imported, which relative imports inside it do not show."""
        if alias.target_path.startswith("converters."):
            alias.target_path = f"ir_interp.{alias.target_path}"

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Put ``converters``, which lies beside ``ir_interp`` in a clone, inside it."""
        if pkg.name == "ir_interp":
            pkg.del_member("converters")
            pkg.set_member("converters", loader.load("converters"))

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """List the members of an enum in its docstring; mkdocstrings would give each a heading."""
        public = getattr(ir_interp, cls.name, None)
        if cls.docstring and isinstance(public, EnumType):
            rows = [f"- `{member.name}`: `{member.value}`" for member in public]
            cls.docstring.value = "\n".join([cls.docstring.value, "", *rows])
