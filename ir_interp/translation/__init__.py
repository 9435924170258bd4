"""From one attribute vocabulary to another: dialects, meaning, grades."""
