"""Records of a conversion and its verification, which a program reads."""
