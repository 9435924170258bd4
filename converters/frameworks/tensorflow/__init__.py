"""SavedModels, Keras files and frozen graphs: TensorFlow describes and runs them, in a process of its own."""

from ir_interp.files.kinds import Framework

FRAMEWORK = Framework(
    folder=__name__,
    title="TensorFlow",
    packages=("tensorflow",),
    extra="tensorflow",
    extensions=(".keras", ".h5", ".pb"),
    has_channels_last=True,
    file_in_folder="saved_model.pb",
)
