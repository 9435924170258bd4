"""Image libraries: one file each, found by its name; what a call of theirs means, as a dialect."""
