"""Run random Resizes of images in onnxruntime-web, in headless Chromium, and compare with the predictions.

``python -m tests.sweeps.web --cases 300 --seed 1`` needs Chromium, Playwright (``pip install playwright``) and the
package onnxruntime-web (``npm install --ignore-scripts onnxruntime-web@1.30 && export
NODE_PATH=$PWD/node_modules``). ``--backend`` chooses among

- ``wasm``, the CPU provider, whose predictions are those of ``onnxruntime:1.30``
- ``webgpu``, the provider in C++, which onnxruntime-node has, too: ``onnxruntime-webgpu``
- ``jsep``, the older provider in TypeScript, which has its own shaders; its predictions are the same

Without a GPU, Chromium's own software driver serves. It exits with 1 where a prediction is wrong, but for ``jsep``.
"""

from __future__ import annotations

import argparse
import base64
import functools
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp.converters.audit.probe import Ran
from tests.sweeps.runtimes import LACKS, MOST_UNKNOWN, MOST_WRONG, Seen, native, saved

if TYPE_CHECKING:
    from playwright.sync_api import Page

BACKENDS = {  # file of the package, execution provider, and whose predictions are compared
    "wasm": ("ort.wasm.min.mjs", "wasm", "onnxruntime:1.30"),
    "webgpu": ("ort.webgpu.min.mjs", "webgpu", "onnxruntime-webgpu"),
    "jsep": ("ort.all.min.mjs", "webgpu", "onnxruntime-webgpu"),
}
_FLAGS = ("--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan")
_LACKING = "requires f16 but"  # in errors of a device without float16
_OTHER = "Provider type for Cast node"  # in those about a Cast that these builds lack
_RUN = """
async ([bundle, provider, model, type, dims, data]) => {
  const bytes = text => Uint8Array.from(atob(text), each => each.charCodeAt(0));
  const kinds = {float32: Float32Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array, float16: Uint16Array};
  try {
    const ort = await import("/" + bundle);
    ort.env.wasm.wasmPaths = location.origin + "/";
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = "fatal";
    const session = await ort.InferenceSession.create(bytes(model), {executionProviders: [provider]});
    const x = new ort.Tensor(type, new kinds[type](bytes(data).buffer), dims);
    const y = (await session.run({[session.inputNames[0]]: x}))[session.outputNames[0]];
    const array = await y.getData();
    const raw = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    let text = "";
    for (const each of raw) text += String.fromCharCode(each);
    const result = {type: y.type, dims: [...y.dims], data: btoa(text)};
    await session.release();
    return result;
  } catch (error) { return {error: String(error)}; }
}
"""


class _Files(http.server.SimpleHTTPRequestHandler):
    """Serves the package, and an empty page."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class InBrowser(Seen):
    """What models come to in a backend of onnxruntime-web."""

    def __init__(self, backend: str, page: Page) -> None:
        self.bundle, self.provider, name = BACKENDS[backend]
        super().__init__(name)
        self.page = page

    def of(self, models: list[Path], arrays: list[Path]) -> list[Ran]:
        """Return what becomes of models."""
        return [self._one(model, np.load(array)) for model, array in zip(models, arrays, strict=True)]

    def _one(self, model: Path, x: np.ndarray[Any, Any]) -> Ran:
        data = base64.b64encode(x.tobytes()).decode()
        text = base64.b64encode(model.read_bytes()).decode()
        answer = self.page.evaluate(_RUN, [self.bundle, self.provider, text, x.dtype.name, [*x.shape], data])
        if "error" in answer:
            error = str(answer["error"]).replace("\n", " ")
            is_lacking = (
                x.dtype == np.float16 and self.provider != "wasm" and all(each in error for each in _LACKING[:1])
            )
            return Ran(lacks=error) if is_lacking else Ran(refusal=error)
        output = np.frombuffer(base64.b64decode(answer["data"]), answer["type"])
        return Ran(output=output.reshape(answer["dims"]))


def folder() -> Path | None:
    """Return the folder of the package; None if it is not installed."""
    places = os.environ.get("NODE_PATH", "").split(os.pathsep)
    return next((each for place in places if place and (each := Path(place, "onnxruntime-web", "dist")).is_dir()), None)


@contextmanager
def opened(files: Path) -> Iterator[Page]:
    """Yield a page in headless Chromium that can import the files."""
    from playwright.sync_api import sync_playwright

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(files)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=[*_FLAGS])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        yield page
        browser.close()
    server.shutdown()


def main(arguments: list[str]) -> int:
    """Compare what the options choose; return 1 if too many predictions are wrong or unknown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=[*BACKENDS], action="append", help="by default all")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    files = folder()
    if files is None or shutil.which("chromium") is None:
        print("skipped: onnxruntime-web (npm, NODE_PATH) or Chromium is not installed")
        return 0
    release = json.loads(files.with_name("package.json").read_text())["version"]
    failed = False
    with tempfile.TemporaryDirectory() as place, opened(files) as page:
        drawn = list(saved(Path(place), options.cases, options.seed))
        for backend in options.backend or BACKENDS:
            came = list(native(InBrowser(backend, page), drawn))
            wrong = sum("predicted" in each for _, each in came)
            ran = [(drawn, each) for drawn, each in came if each != LACKS]
            unknown = sum("unknown" in each for drawn, each in ran if drawn.node.is_image)
            images = sum(drawn.node.is_image for drawn, _ in ran)
            counts = dict(sorted(Counter(each for _, each in came).items()))
            print(f"onnxruntime-web {release} {backend}: {counts}; wrong {wrong} of {len(ran)}, "
                  f"unknown {unknown} of {images} images", flush=True)  # fmt: skip
            failed |= backend != "jsep" and (wrong > MOST_WRONG * len(ran) or unknown > MOST_UNKNOWN * images)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
