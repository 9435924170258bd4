"""The diagnostic codes: what each means, its background, its remedy, and the test that proves it."""

from __future__ import annotations

from ir_interp.diagnostics.audit_rules import AUDIT_RULES
from ir_interp.diagnostics.readings import READINGS
from ir_interp.diagnostics.rule import Rule as Rule
from ir_interp.diagnostics.rule import Severity as Severity
from ir_interp.errors import ReadError, closest

RULES = {rule.code: rule for rule in (*READINGS, *AUDIT_RULES)}


def find(code: str) -> Rule:
    """Return the rule of a code in upper or lower case. Raises ReadError for an unknown code."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise ReadError(f"unknown code {code!r}; {closest(code, RULES)}")
    return rule
