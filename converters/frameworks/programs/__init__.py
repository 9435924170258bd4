"""Exported programs of PyTorch (.pt2), in files and in memory."""

from ir_interp.files.kinds import Framework

_PICKLED = "files of torch.save and torch.jit.save are not read; expected an exported program"
_REMEDY = "save torch.export.export(module, inputs) by torch.export.save as .pt2"
FRAMEWORK = Framework(
    folder=__name__,
    title="PyTorch",
    packages=("torch", "onnxscript"),
    extra="torch",
    extensions=(".pt2",),
    stand_in=".onnx",
    has_exporters=True,
    refused=dict.fromkeys((".pt", ".pth"), f"{_PICKLED}; {_REMEDY}"),
    in_memory=("a torch.export.ExportedProgram", "a torch.onnx.ONNXProgram", "a module with its inputs"),
)
