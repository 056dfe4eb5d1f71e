"""The shape of the generator: its packages in the order of the pipeline, and which may import which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # it reads sources

ROOT = Path(__file__).parents[1] / "codegen" / "opwright_codegen"
# The order of the pipeline. Each imports itself and those before it, at module level and inside functions alike.
ORDER = [
    "records", "source", "errors", "parsing", "schema", "formula", "expressions", "documents", "read", "kernels",
    "derivatives", "views", "kernel_choices", "declared", "targets.native", "targets.cuda", "targets.kernels",
    "targets.gradients", "targets.ops", "targets.bindings", "targets", "output", "explanations", "findings",
    "building", "sources", "importing", "mutants", "promises", "reference",
    "commands", "about", "build_plugins", "arguments", "cli", "entry",
]  # fmt: skip
# The stages of the front half. `declare` runs them, and modules behind it import `declared` alone, except these, which
# work on the text of schema files.
FRONT = ("read", "kernels", "derivatives", "kernel_choices")
ON_TEXT = {
    "about.explain -> read.rule",
    "about.schema -> read.entry_keys",
    "commands.lint -> read.old_dims",
    "importing.writing -> read.files",
    "mutants.making -> read.dims",
    "mutants.making -> read.entry_keys",
    "mutants.making -> read.key_formats",
    "output.canonical -> read.entries",
    "output.canonical -> read.entry_keys",
    "output.canonical -> read.key_formats",
    "output.canonical -> read.old_dims",
    "output.editor_schema -> read.entry_keys",
}
# What nothing needs, and what may import it: the command line, and who runs commands in other ways. Commands share
# their settings.
SETTINGS = {f"commands.{name}" for name in ("config", "job", "report_options", "runtime_process")}
LEAVES = {
    "importing": {"commands.import_"},
    "mutants": {"commands.mutate"},
    "reference": {"commands.docs"},
    "commands": {"cli", "about.explain", "build_plugins.project"},
    "about": {"cli"},
    "build_plugins": set(),
    "cli": {"entry"},
}
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
PACKAGES = [name.replace(".", "/") for name in ORDER if (ROOT / name.replace(".", "/")).is_dir()]


@cache
def graph(for_types: bool = False) -> dict[str, set[str]]:
    """Return what each module imports of the generator, by names within it: `schema.types`, `cli`; with `for_types`
    what type checkers alone import, too."""
    paths = {_name(path): path for path in ROOT.rglob("*.py")}
    return {name: set(_imports(path, set(paths), for_types)) - {name, ""} for name, path in paths.items()}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def _imports(path: Path, known: set[str], for_types: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {
        id(inner) for node in ast.walk(tree) if not for_types and _is_left_out(node) for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import, which this test does not read"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in found:
            root, _, rest = name.partition(".")
            if root == "opwright_codegen":
                yield rest if rest in known else rest.rpartition(".")[0]


def _is_left_out(node: ast.AST) -> bool:
    """Whether what is below runs for type checkers alone, or only where the module is the program that was started."""
    return isinstance(node, ast.If) and ("TYPE_CHECKING" in ast.dump(node.test) or "__main__" in ast.dump(node.test))


def test_every_file_of_the_generator_has_a_place_in_the_order() -> None:
    found = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - {"__init__"} == {name.partition(".")[0] for name in ORDER}
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("__init__.py")}
    assert packages - {"."} == set(PACKAGES)
    assert {path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")} == packages


def test_the_table_of_packages_is_in_their_order() -> None:
    readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`[\w/]+/`\]\(opwright_codegen/([\w/]+)\)", readme, re.MULTILINE) == PACKAGES


def test_packages_of_the_generator_import_downwards() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in targets
        if module and _place(target) > _place(module)
    ]
    assert wrong == []
    assert graph()[""] == set()


def test_the_declared_set_is_a_border() -> None:
    behind = {module for module in graph() if module and _place(module) > ORDER.index("declared")}
    found = {
        f"{module} -> {target}"
        for module in behind
        for target in graph(for_types=True)[module]
        if target.partition(".")[0] in FRONT
    }
    assert found == ON_TEXT
    assert {target for module in behind for target in graph(for_types=True)[module]} > {"declared.parts"}


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaves_are_imported_by_few(leaf: str) -> None:
    found = {
        module
        for module, targets in graph(for_types=True).items()
        for target in targets - SETTINGS
        if f"{target}.".startswith(f"{leaf}.") and not f"{module}.".startswith(f"{leaf}.")
    }
    assert found == LEAVES[leaf]


def _place(module: str) -> int:
    """Return the place in the order of the innermost package that holds a module."""
    while module not in ORDER:
        module = module.rpartition(".")[0]
    return ORDER.index(module)


def test_no_modules_of_the_generator_import_each_other() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for target in sorted(graph()[module]):
                visit(target, (*path, module))
            done.add(module)

    for module in sorted(graph()):
        visit(module, ())
    assert len(done) > 80


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_of_the_generator_says_what_it_is_for(package: str) -> None:
    readme = (ROOT / package / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 24
    assert readme.startswith(f"# {package}/: ")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_readme_of_a_package_has_a_line_for_each_file_in_import_order(package: str) -> None:
    """Files of data stand where they like."""
    readme = (ROOT / package / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- `([\w.]+)`: ", readme, re.MULTILINE)
    present = {path.name for path in (ROOT / package).iterdir() if path.is_file()}
    assert sorted(listed) == sorted(present - {"__init__.py", "README.md"})
    order = [f"{package}/{name.removesuffix('.py')}".replace("/", ".") for name in listed]
    early = [(module, target) for at, module in enumerate(order) for target in order[at + 1 :] if module in graph()]
    assert [f"{module} imports {target}" for module, target in early if target in graph()[module]] == []


def test_files_and_functions_are_short() -> None:
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
        assert len(text.splitlines()) <= LONGEST_FILE, path
        assert [each.name for each in functions if (each.end_lineno or 0) - each.lineno >= LONGEST_FUNCTION] == []
