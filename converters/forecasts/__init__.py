"""What a runtime makes of a resize, told without running it."""
