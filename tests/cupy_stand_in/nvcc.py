"""A stand-in for nvcc: `NVCC="python nvcc.py"`. Launches `f<<<…>>>(…)` become loops; the C++ compiler does the rest."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
_LAUNCH = re.compile(r"([\w:]+(?:<[\w, ]+>)?)\s*<<<(.*?)>>>\s*\((.*?)\);", re.DOTALL)


def translated(text: str) -> str:
    """The source with its launches as calls that run all blocks and threads; lines stay where they are."""
    return _LAUNCH.sub(r"on_cpu_start(\2, [&] { \1(\3); });", text)


def options(given: list[str]) -> Iterator[str]:
    """The options as the C++ compiler takes them."""
    words = iter(given)
    for word in words:
        if word == "-Xcompiler":
            yield from next(words).split(",")
        else:
            yield "-std=c++20" if word == "-std=c++17" else word


def main(given: list[str]) -> int:
    """Compile or link. The exit status of the C++ compiler."""
    source = next((Path(word) for word in given if word.endswith(".cu")), None)
    extra = ["-pthread", f"-I{HERE / 'cuda_headers'}", "-include", str(HERE / "cuda_on_cpu.h"), "-Wno-unknown-pragmas"]
    with tempfile.TemporaryDirectory() as folder:
        if source is not None:
            made = Path(folder, "made.cpp")
            text = translated(source.read_text(encoding="utf-8"))
            made.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8")
            given = [str(made) if word == str(source) else word for word in given]
            extra.append(f"-I{source.parent}")
        status = subprocess.run(["c++", *options(given), *extra], check=False).returncode
        if source is not None and not status and "-MF" in given:
            depfile = Path(given[given.index("-MF") + 1])
            depfile.write_text(depfile.read_text().replace(str(made), str(source)))
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
