"""Models run in their runtimes: processes, inputs, shapes."""
