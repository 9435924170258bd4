"""Hypothesis draws anew at every run, but always the same in continuous integration: there a failure must be new."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("anew", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "anew")
