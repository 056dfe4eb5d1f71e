"""Projects built by setuptools and by hatchling: generated, compiled, and what their distributions hold.

The backends run as pip runs them, without an environment of their own: Opwright is on no package index.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from installing import environment, install, run

EXAMPLE = Path(__file__).parents[1] / "examples" / "native"
SETTINGS = """
[project]
name = "demo"
version = "1.0"
requires-python = ">=3.11"

[tool.opwright]
schemas = ["schemas/ops.yaml"]
output = "src/demo/operators"
native = ["csrc"]
"""
BACKENDS = {
    "setuptools.build_meta": '[build-system]\nrequires = ["setuptools", "opwright-codegen"]\n',
    "hatchling.build": '[build-system]\nrequires = ["hatchling", "opwright-codegen"]\n',
}
HATCH = '\n[tool.hatch.build.hooks.opwright]\n\n[tool.hatch.build.targets.wheel]\npackages = ["src/demo"]\n'
CALL = "import demo, numpy; print(demo.axpy(numpy.arange(3.0), numpy.ones(3), alpha=2.0), demo.__file__)"
OBSERVED = {"schemas/ops.yaml", "csrc/axpy.c", "csrc/rows.c", "csrc/own.h", "pyproject.toml"}
# CUDA sources are compiled where they are called.
NATIVE = {
    "__init__.py", "cuda.py", "_native_demo.abi3.so", "csrc_axpy.cu", "csrc_moments.cu", "device.elements.cu",
    "doubled.loops.cu",
}  # fmt: skip
EXPRESSION = "\n- func: native_demo::doubled(Tensor self) -> Tensor\n  kernel: self * 2\n  dtypes: float32\n"
has_hooks = bool(entry_points(group="hatch", name="opwright"))
pytestmark = [
    pytest.mark.once,  # other programs build, in processes of their own
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(not has_hooks, reason="Opwright was installed here before it had hooks: make generate"),
]


def project(folder: Path, backend: str, *, ignored: bool = True) -> Path:
    """A project of this backend, which git would leave the generated files out of."""
    (folder / "src" / "demo").mkdir(parents=True)
    (folder / "src" / "demo" / "__init__.py").write_text("from demo.operators.ops import axpy, running_max\n")
    (folder / "schemas").mkdir()
    (folder / "schemas" / "ops.yaml").write_text((EXAMPLE / "ops.yaml").read_text() + EXPRESSION)
    shutil.copytree(EXAMPLE / "csrc", folder / "csrc")
    (folder / "csrc" / "own.h").write_text("/* of the project */\n")
    tail = HATCH if backend.startswith("hatchling") else ""
    name = f'build-backend = "{backend}"\n'
    (folder / "pyproject.toml").write_text(BACKENDS[backend] + name + SETTINGS + tail)
    if ignored:
        (folder / ".gitignore").write_text("src/demo/operators/\n")
        (folder / ".git").mkdir()
    return folder


def call(folder: Path, hook: str, backend: str, *, status: int = 0, **variables: str) -> tuple[Path, str]:
    """Run a hook of PEP 517 or PEP 660; return what it made in `made/`, and what it said."""
    made = folder / "made"
    made.mkdir(exist_ok=True)
    settings = "".join(f"os.environ[{name!r}] = {value!r}; " for name, value in variables.items())
    code = f"import os; {settings}import {backend} as backend; print(); print(backend.{hook}('made'))"
    done = run(sys.executable, "-c", code, cwd=folder)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return made / (done.stdout.split() or [""])[-1], done.stdout + done.stderr


@pytest.fixture(scope="module", params=BACKENDS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A source distribution, and the wheel that was built of it alone."""
    folder = tmp_path_factory.mktemp("project")
    sdist, _ = call(project(folder / "p", request.param), "build_sdist", request.param)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    wheel, _ = call(folder / "demo-1.0", "build_wheel", request.param)
    return sdist, wheel


def test_the_source_distribution_has_what_a_wheel_is_built_of(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= OBSERVED
    assert "src/demo/operators/native/native_demo_shims.c" in names
    assert not [name for name in names if name.endswith((".o", ".so", ".d", "state.json"))]


def test_the_wheel_has_the_library_and_no_c(built: tuple[Path, Path]) -> None:
    """One library, for Python 3.11 and later; stubs and manifest, which no setting asks for."""
    name = built[1].name
    assert name.startswith("demo-1.0-cp311-abi3-") and "any" not in name
    names = set(zipfile.ZipFile(built[1]).namelist())
    operators = {each.removeprefix("demo/operators/") for each in names if each.startswith("demo/operators/")}
    assert {"ops/ops.pyi", "ops/ops.py", "py.typed", "manifest.json", "native/_native_demo.abi3.so"} <= operators
    native = {each for each in names if each.startswith("demo/operators/native/")}
    assert native == {f"demo/operators/native/{name}" for name in NATIVE}
    assert not [each for each in names if each.startswith(("csrc", "schemas"))]


def test_the_wheel_is_installed_and_called(built: tuple[Path, Path], tmp_path: Path) -> None:
    python = environment(tmp_path / "environment")
    install(python, built[1])
    done = run(python, "-c", CALL, cwd=tmp_path)
    assert done.stdout.startswith(f"[1. 3. 5.] {tmp_path}"), done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_editable_installation_is_generated_and_compiled_in_place(tmp_path: Path, backend: str) -> None:
    folder = project(tmp_path / "p", backend)
    wheel, _ = call(folder, "build_editable", backend)
    assert (folder / "src/demo/operators/native/_native_demo.abi3.so").is_file()
    python = environment(tmp_path / "environment")
    install(python, wheel)
    done = run(python, "-c", CALL, cwd=tmp_path)
    assert done.stdout == f"[1. 3. 5.] {folder}/src/demo/__init__.py\n", done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_cannot_be_built_is_said_in_lines(tmp_path: Path, backend: str) -> None:
    """No compiler: a wheel of what is Python, unless settings refuse that. Wrong files: no wheel, and no traceback."""
    folder = project(tmp_path / "p", backend, ignored=False)
    (folder / "src/demo/operators/native/build").mkdir(parents=True)
    (folder / "src/demo/operators/native/build/x.o").write_text("")
    wheel, said = call(folder, "build_wheel", backend, CC="no-such-compiler")
    assert wheel.name.endswith("-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "demo/operators/ops/ops.pyi" in names
    assert not [name for name in names if name.endswith((".so", ".c", ".o"))]
    assert "opwright: the C kernels are left out: CC names 'no-such-compiler', which is not installed: install" in said
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace("native =", "native_required = true\nnative ="))
    _, said = call(folder, "build_wheel", backend, status=1, CC="no-such-compiler")
    assert said.splitlines()[-1].startswith("opwright: CC names 'no-such-compiler', which is not installed")
    path = folder / "csrc" / "axpy.c"
    path.write_text(path.read_text().replace("const float *x", "const char *x"))
    _, said = call(folder, "build_wheel", backend, status=1)
    assert "csrc/axpy.c:3: error: 'axpy_f32' is not what the schema asks for" in said
    (folder / "schemas" / "ops.yaml").write_text("- func: f(\n")
    _, said = call(folder, "build_sdist", backend, status=1)
    assert "schemas/ops.yaml:1:11: error: " in said
    settings.write_text(settings.read_text().replace("schemas =", "schemes ="))
    _, said = call(folder, "build_sdist", backend, status=1)
    assert "error: [tool.opwright] has no 'schemes'" in said


def test_projects_that_do_not_ask_are_left_alone(tmp_path: Path) -> None:
    """Setuptools calls plug-ins for every project: what is not named in `requires` generates nothing."""
    folder = project(tmp_path / "p", "setuptools.build_meta")
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace('"opwright-codegen"', '"opwright-codegen-of-others"'))
    wheel, _ = call(folder, "build_wheel", "setuptools.build_meta")
    assert wheel.name == "demo-1.0-py3-none-any.whl"
    assert not (folder / "src/demo/operators").exists()
