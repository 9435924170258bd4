"""A resize as primitive operations where no attributes express it: the same for every kind of graph."""
