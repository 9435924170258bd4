"""TensorFlow and Keras models: their resizes read, and the models run, in a process that has TensorFlow."""
