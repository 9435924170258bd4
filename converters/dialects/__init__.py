"""The attribute vocabularies of resizes: one file a dialect."""
