"""TFLite files (.tflite): their resizes read, and single ones written."""

from ir_interp.files.kinds import Framework

FRAMEWORK = Framework(
    folder=__name__,
    title="LiteRT",
    packages=("ai_edge_litert",),
    extra="tflite",
    extensions=(".tflite",),
    stand_in="",  # a single resize is converted as a layer
    has_channels_last=True,
    is_in_folders=True,
)
