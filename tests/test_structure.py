"""The shape of the project: which package may import which, and which files READMEs name."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # it reads sources

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "opwright": ROOT / "runtime" / "opwright",
    "opwright_bindings": ROOT / "runtime" / "opwright_bindings",
    "opwright_core": ROOT / "runtime" / "opwright_core",
    "opwright_codegen": ROOT / "codegen" / "opwright_codegen",
    "opwright_aten": ROOT / "generated" / "opwright_aten",
    "opwright_gate": ROOT / "runtime" / "opwright_gate",
    "opwright_kernels": ROOT / "runtime" / "opwright_kernels",
    "opwright_pytest": ROOT / "runtime" / "opwright_pytest",
}
# Third-party roots that a package may load, and those of them that only functions may import (lazily).
ALLOWED = {
    "opwright": {
        "numpy",
        "ml_dtypes",
        "cupy",
        "sympy",
        "llvmlite",
        "numba",
        "triton",
        "tvm_ffi",
        "opwright",
        "opwright_core",
        "opwright_codegen",
        "opwright_gate",
        "opwright_aten",
        "opwright_kernels",
    },
    "opwright_core": {"numpy", "ml_dtypes", "cupy", "opwright", "opwright_aten", "opwright_core", "opwright_kernels"},
    "opwright_codegen": {
        "lark",
        "jinja2",
        "yaml",
        "rich",
        "watchfiles",
        "latex2mathml",
        "setuptools",
        "hatchling",
        "opwright_codegen",
    },
    "opwright_aten": {"numpy", "cupy", "opwright_aten", "opwright_core", "opwright_kernels"},
    "opwright_gate": {
        "numpy",
        "rich",
        "torch",
        "opwright",
        "opwright_bindings",
        "opwright_codegen",
        "opwright_core",
        "opwright_gate",
    },
    "opwright_kernels": {"numpy", "ml_dtypes", "cupy", "opwright", "opwright_core", "opwright_kernels"},
    "opwright_pytest": {"pytest", "opwright_core", "opwright_gate", "opwright_pytest"},
}
# What kernels are written for, and the modules that import it. (test_binding_folders.py has the imports of bindings.)
BINDINGS = {
    "triton": "opwright.library.custom_ops.triton_kernels",
    "llvmlite": "opwright.foreign_kernels.numba_kernels",
    "numba": "opwright.foreign_kernels.numba_kernels",
    "tvm_ffi": "opwright.foreign_kernels.tvm_kernels",
}
LAZY = {
    "opwright": {"cupy", "triton", "sympy", "opwright_codegen", "opwright_gate", "opwright_kernels"},
    "opwright_core": {"cupy", "opwright", "opwright_aten", "opwright_kernels"},
    "opwright_codegen": {"rich", "watchfiles", "latex2mathml"},
    "opwright_aten": set(),
    "opwright_gate": {"rich", "torch"},
    "opwright_kernels": {"cupy"},
    "opwright_pytest": {"opwright_core", "opwright_gate", "opwright_pytest.judged"},
}
EAGER = {"opwright_pytest.judged": {"opwright_core", "opwright_gate"}}  # imported where it is needed, and not before

# Build backends, and the one module each that they call.
BACKENDS = {
    "setuptools": "opwright_codegen.build_plugins.setuptools_plugin",
    "hatchling": "opwright_codegen.build_plugins.hatch_plugin",
}
# The modules that are imported when the first ShapeEnv is made.
SYMPY = {
    f"opwright.symbolic.{name}"
    for name in ["arithmetic", "evaluation", "expressions", "integers", "knowledge", "operations", "relations"]
}


@functools.cache
def modules(package: str) -> dict[str, list[tuple[str, bool]]]:
    """The imports of each module of a package."""
    folder, found = PACKAGES[package], {}
    for path in sorted(each for each in folder.rglob("*.py") if "tests" not in each.parts[len(folder.parts) :]):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join((package, *parts)).removesuffix(".__init__")
        found[name] = list(imports(ast.parse(path.read_text(encoding="utf-8")), name))
    return found


def imports(node: ast.AST, module: str, is_lazy: bool = False) -> Iterator[tuple[str, bool]]:
    """Every imported name in full, with whether the import runs when the module is loaded. Expressions hold none."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, not is_lazy
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ".".join(filter(None, (_parent(module, node.level), node.module, alias.name))), not is_lazy
    elif isinstance(node, (ast.mod, ast.stmt, ast.excepthandler, ast.match_case)):
        is_lazy |= isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or _is_type_checking(node)
        for inner in ast.iter_child_nodes(node):
            yield from imports(inner, module, is_lazy)


def _parent(module: str, level: int) -> str:
    """What the dots of a relative import stand for."""
    if level == 0:
        return ""
    package, _, rest = module.partition(".")
    is_package = (PACKAGES[package] / rest.replace(".", "/")).is_dir()
    parts = module.split(".")
    return ".".join(parts[: len(parts) - level + is_package])


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def stdlib(root: str) -> bool:
    import sys

    return root in sys.stdlib_module_names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_they_may(package: str) -> None:
    wrong = []
    for module, imported in modules(package).items():
        for target, eager in imported:
            root = target.partition(".")[0]
            if stdlib(root):
                continue
            if root == "sympy" and module in SYMPY:
                continue
            if root in BINDINGS and module.startswith(BINDINGS[root]):
                continue
            if root in BACKENDS and module != BACKENDS[root]:
                wrong.append(f"{module} imports {target}")
            if root not in ALLOWED[package] or (eager and root in LAZY[package] - EAGER.get(module, set())):
                wrong.append(f"{module} imports {target}")
    assert wrong == []


def users_of(root: str) -> set[str]:
    return {
        module
        for package in ("opwright", "opwright_core")
        for module, imported in modules(package).items()
        if any(name.startswith(root) for name, _ in imported)
    }


def test_generated_code_imports_nothing_of_the_runtime_but_its_interface() -> None:
    """Ours and that of every example; `tests/codegen/test_render.py` holds that of its cases."""
    folders = [ROOT / "generated", ROOT / "examples"]
    files = [path for folder in folders for path in folder.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    generated = [path for path in files if path.read_text(encoding="utf-8").startswith("# Generated by Opwright")]
    assert len(generated) > 100
    assert [found for path in generated for found in foreign_imports(path)] == []


def foreign_imports(path: Path) -> list[str]:
    """What a generated module imports of the runtime beside `abi` and bindings."""
    found = {target for target, _ in imports(ast.parse(path.read_text(encoding="utf-8")), "opwright_aten.any")}
    allowed = ("opwright_core.abi.", "opwright_bindings.")
    of_runtime = {name for name in found if name.partition(".")[0] in ("opwright", "opwright_core")}
    return [f"{path} imports {name}" for name in sorted(of_runtime) if not name.startswith(allowed)]


def test_the_interface_of_generated_code_is_what_generators_and_type_checkers_think_it_is() -> None:
    from opwright import abi_names
    from opwright_codegen.views.imports import _HOMES, ABI_VERSION
    from opwright_core import abi

    assert abi.VERSION == ABI_VERSION
    names = {name for name, home in _HOMES.items() if home == "opwright_core.abi"}
    assert names | {"VERSION"} == {*abi.__all__, *abi_names.__all__}
    tree = ast.parse(Path(abi_names.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if _is_type_checking(node))
    shown = {
        target.rpartition(".")[::2] for target, _ in imports(ast.Module([*checked.body], []), "opwright.abi_names")
    }  # type: ignore[attr-defined]
    assert shown == {(abi_names.HOMES[name], name) for name in abi_names.__all__}
    for name in (*abi.__all__, *abi_names.HOMES):
        assert getattr(abi, name) is not None


def test_only_the_facade_imports_generated_code() -> None:
    for_type_checkers = {"opwright.namespaces", "opwright_core.tensors.tensor"}
    facades = {"opwright", "opwright.aten_setup", "opwright.fft", "opwright.linalg", "opwright.special"}
    facades |= {"opwright.nn.attention", "opwright.nn.functional"}
    assert users_of("opwright_aten") <= facades | for_type_checkers


def test_only_one_module_of_the_runtime_imports_the_generator() -> None:
    """Beside the one that begins the command line."""
    assert users_of("opwright_codegen") <= {"opwright.inspection.schema", "opwright.__main__"}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_no_import_cycles(package: str) -> None:
    names = set(modules(package))
    edges: dict[str, set[str]] = {}
    for module, imported in modules(package).items():
        eager = {target for target, now in imported if now}
        edges[module] = {t if t in names else t.rpartition(".")[0] for t in eager} & names - {module, package}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for target in sorted(edges[module]):
                visit(target, (*path, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


# The README of the top folder names each file and subfolder.
LISTED = [
    "schemas", "codegen/opwright_codegen", "templates", "generated/opwright_aten",
    "runtime/opwright", "runtime/opwright_core", "tests", "tests/runtime", "benchmarks", "examples", "docs",
]  # fmt: skip
UNLISTED = re.compile(r"\.|__init__|__pycache__|py\.typed|README|_(fast|native)\..*\.(so|pyd)$")


@pytest.mark.parametrize("folder", LISTED)
def test_the_readme_names_every_file(folder: str) -> None:
    readme = (ROOT / folder.partition("/")[0] / "README.md").read_text(encoding="utf-8")
    files = [path for path in (ROOT / folder).iterdir() if not UNLISTED.match(path.name)]
    names = [path.stem if path.suffix in (".py", ".pyi") else path.name for path in files]
    assert [name for name in names if not re.search(rf"[`(]{re.escape(name)}[`./)]", readme)] == []


def files_of_tests() -> Iterator[Path]:
    """Yield the files of tests, those of bindings too."""
    yield from (ROOT / "tests").rglob("test_*.py")
    yield from (ROOT / "runtime" / "opwright_bindings").rglob("test_*.py")


def test_files_of_tests_have_names_of_their_own() -> None:
    """Pytest imports them by their names alone, all in one process."""
    names = Counter(path.name for path in files_of_tests())
    assert [name for name, count in names.items() if count > 1] == []


def _is_marked(statement: ast.stmt, text: str) -> bool:
    parts = getattr(statement, "decorator_list", [statement])
    return any("mark.oracle" in (ast.get_source_segment(text, each) or "") for each in parts)


def test_what_compares_with_pytorch_is_is_marked() -> None:
    """`make test ORACLE=1 TORCH=2.14.1` runs what is."""
    paths = sorted({*files_of_tests()} - {Path(__file__)})
    assert [where for path in paths for where in _asking_unmarked(path)] == []


def _asking_unmarked(path: Path) -> list[str]:
    """Return where a file asks for PyTorch in what is not marked."""
    text = path.read_text(encoding="utf-8")
    if 'importorskip("torch' not in text:
        return []
    body = ast.parse(text).body
    if any(isinstance(each, ast.Assign) and _is_marked(each, text) for each in body):
        return []
    asking = [each for each in body if 'importorskip("torch' in (ast.get_source_segment(text, each) or "")]
    return [f"{path.name}:{each.lineno}" for each in asking if not _is_marked(each, text)]


def test_another_pytorch_gets_an_environment_of_its_own() -> None:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    shown = subprocess.run(
        ["make", "-n", "-B", "test", "ORACLE=1", "TORCH=2.14.1"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "torch==2.14.1 --constraint .venv-oracle-2.14.1/constraints.txt" in shown
    assert re.search(r"^\.venv-oracle-2\.14\.1/bin/pytest .*-m oracle$", shown, re.M)
    assert ".venv-oracle/" not in shown


def test_the_core_knows_the_packages_that_are_ours() -> None:
    """By their names it tells our frames from those of a caller, and waits for their imports before a fork."""
    from opwright_core import source_locations
    from opwright_core.locks import forks, imports
    from opwright_core.texts import deprecations

    roots = {path.parent.name for path in (ROOT / "runtime").glob("opwright*/__init__.py")} - {"opwright_pytest"}
    assert len(roots) == 5
    for known in (source_locations.OURS, forks._packages, imports._whole, deprecations._ROOTS):
        assert roots <= {name.removesuffix(".") for name in known}


# Pages name files of the project as they name those of a reader's project: these are the reader's.
OF_READERS = {"schemas/curves.yaml"}


def test_paths_that_pages_name_exist() -> None:
    tops = "schemas|codegen|templates|runtime|tests|docs|examples|benchmarks"
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    missing = []
    for page in map(Path, listed.split()):
        prose = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
        for path in re.findall(rf"`((?:{tops})/[\w./*-]+)`", prose):
            found = [*ROOT.glob(path.rstrip("/")), *(ROOT / page.parent).glob(path.rstrip("/"))]
            if not found and path not in OF_READERS:
                missing.append(f"{page}: {path}")
    assert missing == []


# One folder for each framework has the same files. ATen's kernels have a file for a subject in each kind of kernel.
MOST_FILES_OF_A_NAME = {"opwright_bindings": 6, "opwright_kernels": 5}


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "opwright_aten"])
def test_few_files_have_the_same_name(package: str) -> None:
    paths = [path for path in PACKAGES[package].rglob("*.py") if path.parent.name != "tests"]
    names = Counter(path.stem for path in paths if not path.stem.startswith("__"))
    limit = MOST_FILES_OF_A_NAME.get(package, 3)
    assert {name: count for name, count in names.items() if count > limit} == {}
