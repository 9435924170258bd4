"""Facts about each runtime, stated once: what it accepts, which resize it computes, and how it is run."""
