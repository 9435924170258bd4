"""Exported programs of PyTorch (.pt2), in files and in memory."""

from ir_interp.files.frameworks import Framework

FRAMEWORK = Framework(
    folder=__name__,
    title="PyTorch",
    packages=("torch", "onnxscript"),
    extra="torch",
    extensions=(".pt2",),
    stand_in=".onnx",
    has_exporters=True,
    in_memory=("a torch.export.ExportedProgram", "a module with its inputs"),
)
