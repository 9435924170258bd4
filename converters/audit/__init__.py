"""Audits: what every runtime makes of every resize of some models, and what is likely a mistake."""
