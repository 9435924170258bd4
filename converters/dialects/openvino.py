"""OpenVINO's Interpolate, as the dialect of ``ir_interp`` itself."""

from ir_interp.ir.interpolate_dialect import DIALECT

__all__ = ["DIALECT"]
