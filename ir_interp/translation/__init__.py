"""Translation from one set of attributes to another: dialects, meaning, grades.

``dialect`` reads the attributes of a format and lists what it can express. ``meaning`` compares two specs for every
shape or for one. ``translate`` writes a spec in another dialect, and grades the result.
"""
