"""OpenVINO graphs and IR files, built from ONNX models and from single resizes."""

from importlib import import_module

from ..runtimes.execution import openvino_silent

with openvino_silent():
    import_module("openvino")  # before any module of this folder does
