"""`make demo`: one screen from a schema to a dispatched call, and what a mistake looks like."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import opwright

QUICKSTART = Path(__file__).parent / "quickstart"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("ops.yaml", "kernels.py"):
            shutil.copy(QUICKSTART / file, folder)
        title("A schema: ops.yaml")
        print((folder / "ops.yaml").read_text(encoding="utf-8").split("\n\n")[1])

        title("opwright generate ops.yaml -o quickstart_ops")
        print(generate(folder, "ops.yaml"))
        print(code_of(folder / "quickstart_ops" / "kernels_cpu" / "ops.py", "hypotenuse_default = "))

        title("Calls on NumPy arrays, and on Tensors")
        call(folder)

        title("A mistake in the schema file")
        (folder / "wrong.yaml").write_text(
            "- func: quickstart::twice(Tensor x, int64_t n) -> Tensor\n", encoding="utf-8"
        )
        print(generate(folder, "wrong.yaml"))

        title("A mistake in a call")
        try:
            opwright.ops.quickstart.hypotenuse(np.ones(3), "four")
        except opwright.ArgumentError as error:
            print(f"{type(error).__name__}: {error}")


def title(text: str) -> None:
    print(f"\n── {text} " + "─" * (100 - len(text)))


def generate(folder: Path, schema: str) -> str:
    command = [sys.executable, "-m", "opwright_codegen.cli", "generate", schema, "-o", "quickstart_ops"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def code_of(path: Path, start: str) -> str:
    """The block of the file in which a line begins with `start`."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    return next(block for block in blocks if f"\n{start}" in block).strip()


def call(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    importlib.import_module("quickstart_ops")
    hypotenuse, clip_norm = opwright.ops.quickstart.hypotenuse, opwright.ops.quickstart.clip_norm
    three, four = np.array([3, 5]), np.array([4, 12])
    print("hypotenuse(array, array)  =", repr(hypotenuse(three, four)))
    print("hypotenuse(Tensor, array) =", repr(hypotenuse(opwright.tensor([3, 5]), four)))
    print("clip_norm(array)          =", repr(clip_norm(np.array([[3.0, 4.0], [0.3, 0.4]]))))


if __name__ == "__main__":
    main()
