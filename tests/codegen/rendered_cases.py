"""The folders of `cases/`, and the packages that are generated from them."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright_codegen.commands.job import Job
from opwright_codegen.declared.declare import declare
from opwright_codegen.output.render import render

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
_FOLDER = TemporaryDirectory(prefix="opwright_cases_")


@cache
def rendered(name: str) -> dict[str, str]:
    """The files of a case's package, `demo_NAME`."""
    with contextlib.chdir(CASES / name):  # generated code names its sources by their paths
        (declared,) = declare(case(f"demo_{name}", strict=name != "unbound")).values()
        return render(declared)


def case(package: str, *, strict: bool) -> Job:
    """The job of the case in the working directory."""
    return Job(
        Path.cwd(),
        (Path("ops.yaml"),),
        namespace="aten",
        derivatives=Path("derivatives.yaml") if Path("derivatives.yaml").exists() else None,
        kernels=("kernels",) if Path("kernels.py").exists() else (),
        rules=("opwright.rules",),
        gradients=("gradients",),
        strict=strict,
        output=Path(package),
    )


def write(files: dict[str, str], folder: Path) -> None:
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8", newline="\n")


@cache
def package_of(name: str) -> Path:
    """The folder of a case's package, which is made for this process; those of other cases are beside it."""
    folder = Path(_FOLDER.name) / f"demo_{name}"
    write(rendered(name), folder)
    return folder
