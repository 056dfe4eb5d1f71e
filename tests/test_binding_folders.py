"""The folders of bindings: what each contains, what its halves import, and what generating loads of them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright_codegen.declared.binding_folders import own_bindings

pytestmark = pytest.mark.once  # it reads sources, and generates

ROOT = Path(__file__).parents[1]
HOME = ROOT / "runtime" / "opwright_bindings"
NAMES = sorted(path.name for path in HOME.iterdir() if path.is_dir() and path.name != "__pycache__")
REQUIRED = {"README.md", "__init__.py", "target.py", "tests"}
OPTIONAL = re.compile(r"target_\w+\.py|[\w.]+\.j2|runtime(\.py)?|__pycache__")
SHARED = {"numpy", "cupy", "ml_dtypes", "opwright", "opwright_core", "opwright_bindings"}


def halves(name: str) -> dict[str, list[Path]]:
    """The modules of a binding: those of the generator and those of run time."""
    folder = HOME / name
    runtime = [path for place in ("runtime.py", "runtime/**/*.py") for path in folder.glob(place)]
    return {"target": sorted(folder.glob("target*.py")), "runtime": sorted(runtime)}


def imported(path: Path) -> Iterator[str]:
    """Every module, or name in a module, that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def foreign(name: str, half: str) -> Iterator[tuple[Path, str]]:
    """Every import of a half that is not of the standard library."""
    for path in halves(name)[half]:
        for each in imported(path):
            if each.partition(".")[0] not in sys.stdlib_module_names:
                yield path.relative_to(HOME), each


def test_every_folder_is_a_binding() -> None:
    assert sorted(own_bindings()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_a_binding_contains(name: str) -> None:
    found = {path.name for path in (HOME / name).iterdir()}
    assert REQUIRED - found == set()
    assert [each for each in found - REQUIRED if not OPTIONAL.fullmatch(each)] == []
    assert list((HOME / name / "tests").glob("test_*.py"))
    assert re.match(r"# .+\n\n.", (HOME / name / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_binding_imports_nothing_by_itself(name: str) -> None:
    (text,) = ast.parse((HOME / name / "__init__.py").read_text(encoding="utf-8")).body
    assert isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)


@pytest.mark.parametrize("name", NAMES)
def test_the_half_of_the_generator_imports_the_generator_alone(name: str) -> None:
    own = f"opwright_bindings.{name}.target_"
    assert [each for each in foreign(name, "target") if not each[1].startswith(("opwright_codegen.", own))] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_half_of_run_time_imports_its_framework_and_the_library(name: str) -> None:
    """The framework is imported by the name of the folder."""
    for path, each in foreign(name, "runtime"):
        assert each.partition(".")[0] in SHARED | {name, f"{name}lib"}, (path, each)
        assert ".target" not in each, (path, each)


@pytest.mark.parametrize("name", NAMES)
def test_every_template_of_a_binding_is_used(name: str) -> None:
    templates = sorted((HOME / name).glob("*.j2"))
    sources = [path.read_text(encoding="utf-8") for path in (*halves(name)["target"], *templates)]
    named = {"binding.py.j2"} | {found for text in sources for found in re.findall(rf"{name}:([\w.]+\.j2)", text)}
    assert {path.name for path in templates} <= named


def test_the_generator_names_no_binding_in_an_import() -> None:
    paths = (ROOT / "codegen").rglob("*.py")
    found = {f"{path.name}: {each}" for path in paths for each in imported(path) if each.startswith(HOME.name)}
    assert found == set()


OPERATORS = "- func: small::twice(Tensor x) -> Tensor\n  kernel: x + x\n  dtypes: float32\n"


def generate(folder: Path, bindings: list[str], *paths: Path) -> subprocess.CompletedProcess[str]:
    """Generate a small project in a process that finds these paths; print what it loaded."""
    (folder / "ops.yaml").write_text(OPERATORS)
    settings = f'[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "small_ops"\nbindings = {bindings!r}\n'
    (folder / "pyproject.toml").write_text(settings)
    code = "import sys; from opwright_codegen.cli import main; status = main(['generate'])\n"
    code += "print('loaded', *sorted({name.partition('.')[0] for name in sys.modules})); sys.exit(status)"
    environment = os.environ | ({"PYTHONPATH": os.pathsep.join(map(str, paths))} if paths else {})
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_generating_loads_no_framework_and_nothing_of_the_runtime(tmp_path: Path) -> None:
    done = generate(tmp_path, NAMES)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"opwright_codegen", "opwright_bindings"} <= loaded
    assert loaded & {*NAMES, "numpy", "opwright", "opwright_core"} == set()
    assert len(list(tmp_path.glob("small_ops_*.py"))) == len([each for each in NAMES if halves(each)["runtime"]])


def test_a_binding_without_the_library_is_one_line(tmp_path: Path) -> None:
    """The generator and the core alone are installed: no folder of bindings is found."""
    alone = tmp_path / "alone"
    alone.mkdir()
    for source in (ROOT / "codegen" / "opwright_codegen", ROOT / "runtime" / "opwright_core"):
        (alone / source.name).symlink_to(source)
    code = f"import sys; sys.path[:] = [{str(alone)!r}, *(each for each in sys.path if 'runtime' not in each)]\n"
    code += "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in getattr(each, '__module__', '')]\n"
    code += "from opwright_codegen.cli import main; sys.exit(main(['generate']))"
    generate(tmp_path, ["jax"])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "pyproject.toml:4:13: error: no binding 'jax' is installed [unknown-framework]" in done.stderr
    assert "hint: the bindings to frameworks come with the library: pip install opwright" in done.stderr
