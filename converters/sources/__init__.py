"""What is read: which reader takes a file, layers as JSON, a model in brief."""
