"""OpenVINO's Interpolate, as the dialect that ``ir_interp`` itself speaks."""

from ir_interp.interpolate import DIALECT

__all__ = ["DIALECT"]
