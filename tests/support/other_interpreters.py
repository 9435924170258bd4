"""Run models in another release of a runtime, which another Python interpreter has."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

_SCRIPT = """
import os, pickle, signal, sys
import numpy as np
sys.modules["openvino_telemetry"] = None
runtime, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
ENGINE = None  # the API of OpenVINO up to 2021
if runtime == "onnxruntime":
    import onnxruntime
else:
    try:
        from openvino import Core
    except ImportError:
        try:
            from openvino.runtime import Core
        except ImportError:
            from openvino.inference_engine import IECore as ENGINE
SETTINGS = [  # of which the first that a release knows turns bfloat16 off, the default on processors that have it
    {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"},
    {"ENFORCE_BF16": "NO", "CPU_THREADS_NUM": "1"},
]
PRECISIONS = {"float32": "FP32", "float16": "FP16", "uint8": "U8", "int8": "I8", "int32": "I32", "int64": "I64"}

def run(path, x):
    if runtime == "onnxruntime":
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: x})[0]
    if ENGINE is not None:
        engine = ENGINE()
        model = engine.read_network(path, os.path.splitext(path)[0] + ".bin")
        loaded = engine.load_network(model, "CPU", SETTINGS[1])
        (name,) = model.input_info
        model.input_info[name].precision = PRECISIONS[x.dtype.name]
        (y,) = loaded.infer({name: x}).values()
        return np.array(y)
    core = Core()
    model = core.read_model(path)
    for settings in SETTINGS:
        try:
            core.set_property("CPU", settings)
            break
        except Exception:
            pass
    request = core.compile_model(model, "CPU").create_infer_request()
    request.infer([x])
    return np.array(request.get_output_tensor(0).data)

results = []
for number in range(count):
    (path,) = [name for name in os.listdir(folder) if name in (f"{number}.onnx", f"{number}.xml")]
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(60)
        try:
            answer = run(f"{folder}/{path}", np.load(f"{folder}/{number}.npy"))
        except Exception as error:
            answer = str(error)
        with os.fdopen(send, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        octets = file.read()
    os.waitpid(child, 0)
    results.append(pickle.loads(octets) if octets else None)
with open(f"{folder}/results", "wb") as file:
    pickle.dump(results, file, protocol=4)
"""


def results_in(python: Path, runtime: str, folder: Path, count: int) -> list[Any]:
    """Return what a runtime makes of the models of a folder, each in a process of its own.

    The models are 0.onnx or 0.xml and so on, their only inputs 0.npy. A result is an array, the text of a refusal, or
    None where the process died. ``python`` has NumPy, and the release of the runtime.
    """
    script = [str(python), "-c", _SCRIPT, runtime, str(folder), str(count)]
    subprocess.run(script, check=True, stderr=subprocess.DEVNULL)
    results: list[Any] = pickle.loads((folder / "results").read_bytes())
    return results
