"""Exported programs of PyTorch (.pt2), in files and in memory."""

from ir_interp.files.kinds import Framework

_PICKLED = "files of torch.save and torch.jit.save may run code, and are not read"
_REMEDY = "load it in Python, and pass (module, inputs), or save torch.export.export(module, inputs) as .pt2"
_WEIGHTS = "weights without a program; load them into the module, and pass (module.eval(), inputs) in Python"
FRAMEWORK = Framework(
    folder=__name__,
    title="PyTorch",
    packages=("torch", "onnxscript"),
    extra="torch",
    extensions=(".pt2",),
    stand_in=".onnx",
    has_exporters=True,
    refused={
        **dict.fromkeys((".pt", ".pth", ".ckpt"), f"{_PICKLED}; {_REMEDY}"),
        ".safetensors": _WEIGHTS,
    },
    in_memory=("a torch.export.ExportedProgram", "a torch.onnx.ONNXProgram", "a module with its inputs"),
)
