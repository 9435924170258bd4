"""From a spec and a shape to taps: which source pixels an output takes, and how much each weighs."""
