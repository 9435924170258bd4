"""What is larger than memory: resizes of arrays that are read, made and written chunk by chunk."""
