"""The whole pipeline in a folder of its own: a schema file is written, the command run, the result imported."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opwright import Tensor
from opwright.registering.kernels import undefine
from opwright_codegen.cli import main
from opwright_core.dispatch.registry.tables import registry

_count = itertools.count()
_POSITION = re.compile(r"^.+:\d+:\d+: error: ", re.MULTILINE)


def new_namespace() -> str:
    """A name that no other test uses, for a namespace or a package: both are one in the whole process."""
    return f"pipeline{next(_count)}"


@dataclass
class Run:
    """What `opwright generate` did in a folder; `package` is what it should have written."""

    status: int
    stdout: str
    stderr: str
    package: Path


def generate(folder: Path, schemas: str | bytes, *options: str, name: str = "ops.yaml", kernels: str = "") -> Run:
    """Write the schemas, and the module of kernels `hostile_kernels` if there is one, and run the command."""
    package = folder / new_namespace()
    (folder / name).write_bytes(schemas if isinstance(schemas, bytes) else schemas.encode())
    (folder / "pyproject.toml").write_text('[tool.opwright]\nkernels = ["hostile_kernels"]\n' if kernels else "")
    if kernels:
        (folder / "hostile_kernels.py").write_text(kernels)
        options += ("--kernels", "hostile_kernels")
    return _run(package, ["generate", "-o", package.name, *options, "--", name])


def generate_project(
    folder: Path, schemas: str, derivatives: str, kernels: str = "", gradients: str = "", settings: str = ""
) -> Run:
    """Write a project with derivatives, whose modules no other test has, and run the command in it."""
    package = folder / new_namespace()
    own = f"{package.name}_functions"
    (folder / own).mkdir()
    modules = {f"{own}/__init__.py": "", f"{own}/kernels.py": kernels, f"{own}/gradients.py": gradients}
    for name, text in {"ops.yaml": schemas, "derivatives.yaml": derivatives, **modules}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        f'[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "{package.name}"\nderivatives = "derivatives.yaml"\n'
        f'kernels = ["{own}.kernels"]\ngradients = ["{own}.gradients"]\n{settings}\n'
    )
    return _run(package, ["generate"])


def _run(package: Path, command: list[str]) -> Run:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(package.parent), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command)
    run = Run(status, out.getvalue(), err.getvalue(), package)
    assert "Traceback" not in run.stderr and "an error of its own" not in run.stderr, run.stderr
    return run


def assert_refused(run: Run) -> None:
    """The run ended with errors that say where they are, and wrote nothing."""
    assert run.status == 1, run.stderr
    assert _POSITION.search(run.stderr), run.stderr
    assert run.stdout == ""
    assert not run.package.exists()


@contextlib.contextmanager
def imported(run: Run) -> Iterator[ModuleType]:
    """The generated package, with every module compiled and imported; afterwards its operators and methods are gone."""
    assert run.status == 0, run.stderr
    name = run.package.name
    before = set(registry.operators)
    methods = set(vars(Tensor))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            for path in run.package.rglob("*.py*"):
                if path.is_file() and path.suffix in (".py", ".pyi"):
                    compile(path.read_bytes(), str(path), "exec")
            spec = importlib.util.spec_from_file_location(
                name, run.package / "__init__.py", submodule_search_locations=[str(run.package)]
            )
            assert spec is not None and spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            sys.path.insert(0, str(run.package.parent))
            spec.loader.exec_module(module)
            for path in run.package.rglob("*.py"):
                parts = path.relative_to(run.package).with_suffix("").parts
                if parts[-1] != "__init__" and parts[0] != "kernels_cuda":
                    importlib.import_module(".".join((name, *parts)))
        yield module
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(run.package.parent))
        for known in [
            known for known in sys.modules if known.partition(".")[0] in (name, f"{name}_functions", "hostile_kernels")
        ]:
            del sys.modules[known]
        with registry.lock:
            for operator in [found for key, found in registry.operators.items() if key not in before]:
                undefine(operator)
        for method in set(vars(Tensor)) - methods:
            delattr(Tensor, method)
