"""Sources: the reader of each kind of file, layers as JSON, and summaries of models."""
