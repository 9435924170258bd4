"""OpenVINO's Interpolate, as the dialect that ``ir_interp`` itself speaks."""

from ir_interp.ir.interpolate_dialect import DIALECT

__all__ = ["DIALECT"]
