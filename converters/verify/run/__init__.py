"""Models run in their runtimes: processes, inputs, lengths."""
