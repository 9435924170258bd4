"""Image libraries: one module each, found by its name, with the meaning of the library's call as a dialect."""
