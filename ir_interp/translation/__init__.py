"""Translation from one set of attributes to another: dialects, meaning, grades."""
