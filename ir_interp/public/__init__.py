"""The functions of ``ir_interp``: every keyword spelled out and checked, then handed to the room that knows."""
