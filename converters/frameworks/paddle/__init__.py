"""Paddle programs: their resizes read, and the models run, in a process that has Paddle."""

from ir_interp.files.frameworks import Framework

FRAMEWORK = Framework(
    folder=__name__, title="PaddlePaddle", packages=("paddle",), extra="paddle", extensions=(".pdmodel",)
)
