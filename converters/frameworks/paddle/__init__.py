"""Paddle programs: their resizes read, and the models run, in a process that has Paddle."""

from ir_interp.files.kinds import Framework

_REMEDY = "save the model again with the environment variable FLAGS_enable_pir_api=0"
FRAMEWORK = Framework(
    folder=__name__,
    title="PaddlePaddle",
    packages=("paddle",),
    extra="paddle",
    extensions=(".pdmodel",),
    # base_code is a key of the .json that Paddle 3 saves by default.
    refused={"base_code": f"a program of Paddle's PIR format; expected a .pdmodel; {_REMEDY}"},
)
