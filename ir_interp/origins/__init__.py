"""Which call of an image library resized an image, and the steps around it."""
