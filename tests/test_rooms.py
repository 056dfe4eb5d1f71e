"""The rooms of the runtime: every import of every file goes to the same package or to one below it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # it reads sources

RUNTIME = Path(__file__).parents[1] / "runtime"
ROOTS = ("opwright_core", "opwright", "opwright_bindings", "opwright_gate")
# From the ground up. Rooms on one line are siblings: none imports another.
ROOMS = [
    ["foundation"],
    ["arrays"],
    ["context_managers", "plans", "random_state", "symbolic"],
    ["rules", "tensors"],
    ["creation", "dispatch"],
    ["native_kernels", "texts"],
    ["inputs"],
    ["cuda_kernels"],
    ["foreign_kernels"],
    ["registering"],
    ["user_kernels"],
    ["common", "inspection", "metadata"],
    ["variants"],
    ["backends", "other_arrays"],
    ["methods"],
    ["amp", "autograd", "fake", "python_dispatch"],
    ["dimensions", "levels"],
    ["batching", "cost", "functionalize"],
    ["func"],
    ["fx", "library"],
    ["abi_names"],
    ["abi", "tools"],
    ["facade"],
    ["nn", "array_api"],
    ["torch_names"],
    ["bindings"],
    ["gate"],
]
# What is no package of its own: modules below all packages, what the rooms above dispatch share, what stands around the
# whole, and what is seen of it.
FOUNDATION = (
    "core", "errors", "foreign_keys", "gradient_codes", "keys", "keysets", "late_bound", "locks", "names", "plugins",
    "source_locations", "state", "unrolling", "versions",
)  # fmt: skip
COMMON = ("namespaces", "pytree", "types")
TOOLS = (
    "_subclasses", "cuda", "fake_profile", "overrides", "random", "return_types", "serialization", "testing", "threads",
    "utils",
)  # fmt: skip
FACADE = (
    "", "__main__", "aten_setup", "facade", "facade_stub", "fft", "linalg", "masked", "providers", "signal", "special",
)  # fmt: skip
LARGEST_CIRCLE = 10
LARGEST_CIRCLE_OF_TYPES = 30  # annotations counted
# What type checkers see of rooms above: typing alone, which nothing at run time needs.
ANNOTATED = {
    "opwright.library -> opwright_gate.checking",  # the signature of `opcheck`
    "opwright.testing -> opwright_gate.checking",  # and of `opcheck_all`
}
NAMED_IN_MESSAGES = {"opwright_core.arrays.size: ) to opwright.Size"}  # of the core: the name of its own class
# Rooms that nothing needs: what imports them all the same, by a statement or by name, and why.
LEAVES = {
    "opwright_gate": {
        "opwright_pytest",  # the plug-in for pytest
        "facade",  # `opcheck`, when it is named
        "library",  # its signature
        "tools",  # `opcheck_all`
    },
    "opwright_bindings": {
        "gate",  # PyTorch's operators are its second opinion
        "other_arrays",  # by name, once a tensor of PyTorch is met
    },
}
# The small runtime, a root of its own: how many lines it may have.
CORE = "opwright_core"
MOST_LINES_OF_THE_CORE = 14_100
LONGEST_FILE = 350
LONGEST_FUNCTION = 60


def _room(module: str) -> str:
    package = module.split(".")[1] if "." in module else ""
    if module.partition(".")[0] in ("opwright_bindings", "opwright_gate"):
        return module.partition(".")[0].removeprefix("opwright_")
    if module == CORE:
        return "foundation"
    if module in ("opwright.dispatch", "opwright.rules"):
        return "facade"
    for room, packages in (("foundation", FOUNDATION), ("common", COMMON), ("tools", TOOLS), ("facade", FACADE)):
        if package in packages:
            return room
    return package


HEIGHTS = {room: height for height, rooms in enumerate(ROOMS) for room in rooms}


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _sources(root: str) -> list[Path]:
    """The modules of a root, without the tests of bindings."""
    return [path for path in (RUNTIME / root).rglob("*.py") if path.parent.name != "tests"]


@functools.cache
def _files() -> dict[str, Path]:
    found = {}
    for path in sorted(path for root in ROOTS for path in _sources(root)):
        parts = path.relative_to(RUNTIME).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _imports(node: ast.AST, for_types: bool = False) -> Iterator[str]:
    """The modules, and names in modules, that code imports: at its top or inside functions; for type checkers, if
    that is asked."""
    match node:
        case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=otherwise) if not for_types:
            for part in otherwise:
                yield from _imports(part)
            return
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            assert level == 0, "imports name their modules in full"
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Call(func=ast.Name("import_module") | ast.Attribute(attr="import_module"), args=[ast.Constant(name)]):
            yield str(name)
    for part in ast.iter_child_nodes(node):
        yield from _imports(part, for_types)


@functools.cache
def _graph(for_types: bool) -> dict[str, set[str]]:
    files = _files()
    graph = {}
    for module, path in files.items():
        names = set(_imports(_tree(path), for_types))
        found = {name if name in files else name.rpartition(".")[0] for name in names}
        graph[module] = found & files.keys() - {module}
    return graph


def _imports_at_the_top(node: ast.AST) -> Iterator[str]:
    """The modules, and names in modules, that are imported when the module is."""
    for part in ast.iter_child_nodes(node):
        match part:
            case ast.Import() | ast.ImportFrom():
                yield from _imports(part)
            case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.FunctionDef():
                pass
            case _:
                yield from _imports_at_the_top(part)


def _loaded_with(module: str, tops: dict[str, set[str]], found: set[str]) -> set[str]:
    """What importing a module imports: packages of what is imported, too."""
    for name in tops.get(module, ()):
        for end in [place for place, letter in enumerate(name + ".") if letter == "."]:
            if name[:end] in tops and name[:end] not in found:
                found.add(name[:end])
                _loaded_with(name[:end], tops, found)
    return found


def test_no_other_imports_parts_of_a_package_that_imports_them() -> None:
    """Note [Packages and their parts]: two threads that import the part and the package first would meet."""
    files = {
        ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__"): path
        for name in (*ROOTS, "opwright_kernels")
        for path in _sources(name)
    }
    trees = {module: _tree(path) for module, path in files.items()}
    tops = {module: set(_imports_at_the_top(tree)) for module, tree in trees.items()}
    at_once = _loaded_with(
        "opwright.aten_setup", tops, _loaded_with("opwright", tops, {"opwright", "opwright.aten_setup"})
    )
    assert len(at_once) > 100
    later = {module: _loaded_with(module, tops, set()) for module in tops.keys() - at_once}
    wrong = {
        f"{module} -> {target}"
        for module, tree in trees.items()
        for target in {name.rpartition(".")[0] for name in _imports(tree)}  # (`from package import part` is right)
        for package in [target.rpartition(".")[0]]
        if target in later.get(package, ()) and not f"{module}.".startswith(f"{package}.")
    }
    assert wrong == set()


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of files that reach each other (Tarjan's strongly connected components), the largest first."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ones: list[str] = []
    found = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        open_ones.append(module)
        for target in graph[module]:
            if target not in numbers:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in open_ones:
                lowest[module] = min(lowest[module], numbers[target])
        if lowest[module] == numbers[module]:
            place = open_ones.index(module)
            found.append(sorted(open_ones[place:]))
            del open_ones[place:]

    for module in graph:
        if module not in numbers:
            visit(module)
    return sorted(found, key=len, reverse=True)


def test_every_file_has_a_room() -> None:
    assert {_room(module) for module in _files()} == set(HEIGHTS)


def _up(graph: dict[str, set[str]]) -> set[str]:
    return {
        f"{module} -> {target}"
        for module, targets in graph.items()
        for target in targets
        if (here := _room(module)) != (there := _room(target)) and HEIGHTS[here] <= HEIGHTS[there]
    }


def test_imports_go_down() -> None:
    assert _up(_graph(for_types=False)) == set()


def test_annotations_go_down_but_for_few() -> None:
    assert _up(_graph(for_types=True)) == ANNOTATED


def _core() -> dict[str, Path]:
    return {module: path for module, path in _files().items() if module.partition(".")[0] == CORE}


def test_what_generated_code_runs_on_is_small() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in _core().values())
    print(lines)
    assert lines <= MOST_LINES_OF_THE_CORE


@pytest.mark.parametrize("root", ("opwright_core", "opwright", "opwright_gate", "opwright_kernels"))
def test_the_readme_says_how_large_the_roots_are(root: str) -> None:
    readme = (RUNTIME.parent / "README.md").read_text(encoding="utf-8")
    said = re.search(rf"`{root}`, [^;|]*?([\d,]+)(?: lines of Python)?\)", readme)
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in _sources(root))
    print(root, lines)
    assert said is not None and abs(int(said[1].replace(",", "")) / lines - 1) < 0.02


def test_what_generated_code_runs_on_imports_nothing_beside() -> None:
    """Interpreters are loaded by `abi`, by name, and the operators of these rooms' own by theirs."""
    graph, core = _graph(for_types=False), _core()
    assert {f"{module} -> {target}" for module in core for target in graph[module] - core.keys()} == set()


def test_the_core_names_nothing_beside_it() -> None:
    """Neither does it load the library by a name, in Python or in C."""
    named = re.compile(r"""(?:import_late|import_module|ImportModule|_load)\(f?"(opwright[\w.]*)""")
    sources = [path for suffix in ("*.py", "*.c", "*.h") for path in (RUNTIME / CORE).rglob(suffix)]
    found = {name for path in sources for name in named.findall(path.read_text("utf-8"))}
    assert {name for name in found if name.partition(".")[0] != CORE} == set()
    assert found & {f"{CORE}.inputs.calls", f"{CORE}.tensors.dlpack"}


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaves_are_imported_by_few(leaf: str) -> None:
    roots = (*ROOTS, "opwright_kernels", "opwright_pytest")
    found = set()
    for path in (path for root in roots for path in _sources(root)):
        module = ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text("utf-8")
        names = {*_imports(_tree(path), for_types=True), *re.findall(r"""import_late\(\s*f?"([\w.]+)""", text)}
        if not module.startswith(leaf) and any(f"{name}.".startswith(f"{leaf}.") for name in names):
            found.add(_room(module) if module.partition(".")[0] in ROOTS else module.partition(".")[0])
    assert found == LEAVES[leaf]


def test_messages_of_the_core_name_nothing_that_may_be_missing() -> None:
    """Who has the core alone can do what a hint says."""
    named = re.compile(r"\bopwright(?:\.\w|_(?:kernels|aten|codegen)\b)")
    found = {
        f"{module}: {node.value}"
        for module, path in _core().items()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.search(node.value)
        if not node.value.startswith("opwright") and id(node) not in _docstrings(_tree(path))
    }
    assert found == NAMED_IN_MESSAGES


def _docstrings(tree: ast.Module) -> set[int]:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, kinds)]
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


@pytest.mark.parametrize(("for_types", "largest"), [(False, LARGEST_CIRCLE), (True, LARGEST_CIRCLE_OF_TYPES)])
def test_circles_are_small_and_within_one_room(for_types: bool, largest: int) -> None:
    graph = {module: set(targets) for module, targets in _graph(for_types=for_types).items()}
    for arrow in ANNOTATED:
        module, _, target = arrow.partition(" -> ")
        graph[module].discard(target)
    for circle in _circles(graph):
        if len(circle) > 1:
            print(len(circle), *(module.removeprefix("opwright.") for module in circle))
        assert len(circle) <= largest
        assert len({_room(module) for module in circle}) == 1


def test_the_table_of_rooms(capsys: pytest.CaptureFixture[str]) -> None:
    """Print what each room holds and imports: `pytest -s tests/test_rooms.py -k table`."""
    graph, files = _graph(for_types=False), _files()
    rows = []
    for room in HEIGHTS:
        modules = [module for module in files if _room(module) == room]
        lines = sum(len(files[module].read_text(encoding="utf-8").splitlines()) for module in modules)
        below = {_room(target) for module in modules for target in graph[module]} - {room}
        rows.append((room, len(modules), lines, " ".join(sorted(below, key=HEIGHTS.__getitem__))))
    with capsys.disabled():
        print(f"\n{'room':16}{'files':>6}{'lines':>7}  imports")
        for room, count, lines, below in rows:
            print(f"{room:16}{count:6}{lines:7}  {below}")
    assert sum(count for _, count, _, _ in rows) == len(files)


def test_files_and_functions_are_short() -> None:
    for module, path in _files().items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, module
        found = [each for each in ast.walk(_tree(path)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        long = [each.name for each in found if (each.end_lineno or 0) - each.lineno >= LONGEST_FUNCTION]
        assert not long, (module, long)


# (The README of a binding is a page for users: test_binding_folders.py has what the folder contains.)
FOLDERS = sorted(
    path.parent
    for root in ROOTS
    for path in (RUNTIME / root).glob("*/**/__init__.py")
    if path.parent.parent.name != "opwright_bindings"
)


def test_each_room_has_a_short_readme_that_names_its_modules() -> None:
    for folder in FOLDERS:
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert len(readme.splitlines()) <= 15, folder
        names = [path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
        missing = [name for name in names if name != "__init__" and f"`{name}" not in readme]
        assert not missing, (folder, missing)


def _loops(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in statements:
        if isinstance(statement, ast.For | ast.While):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _loops(getattr(statement, field, []))


def test_no_loop_stands_in_a_try_that_puts_a_variable_back() -> None:
    """Python 3.13 leaves the end of a loop out of the `try` around it, and looks for signals there: an interrupt would
    leave the variable set. Such a loop is a function of its own."""
    wrong = []
    for module, path in _files().items():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Try):
                after = [*node.finalbody, *(part for handler in node.handlers for part in handler.body)]
                names = {part.func for each in after for part in ast.walk(each) if isinstance(part, ast.Call)}
                called = {getattr(name, "attr", getattr(name, "id", "")) for name in names}
                if called & {"set", "set_modes", "reset_modes", "put_back"}:
                    wrong += [f"{module}:{loop.lineno}" for loop in _loops(node.body)]
    assert wrong == []
