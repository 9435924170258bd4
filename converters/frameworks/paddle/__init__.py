"""Paddle programs: their resizes read, and the models run, in a process that has Paddle."""
