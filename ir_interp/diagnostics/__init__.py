"""Findings: their codes, and what each means."""
