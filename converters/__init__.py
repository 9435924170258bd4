"""One file per foreign dialect, and what joins them: start at ``registry`` (dialects) and ``convert`` (files)."""
