"""Child processes: pools of them, and how each is started."""
