"""TFLite files (.tflite): their resizes read, and single ones written."""
