"""The attributes of resizes in each format: one file per dialect."""
