"""Text that was never meant as a schema, through the whole pipeline: an error with its place, or code that is right.

No text may run anything, or leave anything behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sweeps
from pipeline import assert_refused, generate, imported, new_namespace
from python_copies import run_python

import opwright
from opwright_core.dispatch.call.packets import packet

HOSTILE = {
    "call": "__import__('os').mkdir('canary')",
    "two lines": "a\nimport os; os.mkdir('canary')",
    "docstring": '"""\nimport os; os.mkdir("canary")\n"""',
    "quote": "'",
    "double quote": '"',
    "end of a call": '"); __import__("os").mkdir("canary"); ("',
    "backslash": "\\",
    "comment": "a # b",
    "jinja": "{{ ''.__class__.__mro__ }}",
    "jinja statement": "{% for x in y %}",
    "look-alike": "\u0430dd",
    "ligature": "\ufb01",
    "bidi": "a\u202eb",
    "zero width": "a\u200db",
    "NUL": "\0",
    "carriage return": "a\rimport os; os.mkdir('canary')",
    "form feed": "a\fb",
    "next line": "a\x85b",
    "line separator": "a\u2028b",
    "empty": "",
    "spaces": "  ",
    "long": "k" * 100_000,
    "commas": "a, b",
    "dots": "..",
    "path": "../../canary",
    "format": "%s{0}",
    "dunder": "__import__",
    "class": "__class__",
    "keyword": "class",
    "None": "None",
    "builtin": "eval",
}
FUNCS = {
    "name": "NS::{}(Tensor self) -> Tensor",
    "namespace": "{}::f(Tensor self) -> Tensor",
    "overload": "NS::f.{}(Tensor self) -> Tensor",
    "argument": "NS::f(Tensor self, Tensor {}) -> Tensor",
    "type": "NS::f({} self) -> Tensor",
    "int default": "NS::f(Tensor self, int n={}) -> Tensor",
    "str default": 'NS::f(Tensor self, str n="{}") -> Tensor',
    "enum default": "NS::f(Tensor self, MemoryFormat n={}) -> Tensor",
    "layout default": "NS::f(Tensor self, Layout n={}) -> Tensor",
    "dtype default": "NS::f(Tensor self, ScalarType n={}) -> Tensor",
    "device default": "NS::f(Tensor self, Device n={}) -> Tensor",
    "alias": "NS::f(Tensor({}) self) -> Tensor({})",
    "return": "NS::f(Tensor self) -> (Tensor {}, Tensor other)",
}
KEYS = (
    "variants", "structured", "structured_delegate", "structured_inherits", "autogen", "device_check", "device_guard",
    "python_module", "category_override", "manual_kernel_registration", "manual_cpp_binding", "cpp_no_default_args",
    "use_const_ref_for_mutable_tensors", "ufunc_inner_loop", "doc", "tags", "precomputed",
)  # fmt: skip
DISPATCH = {
    "dispatch key": "'{}': xp.add(self, n)",
    "kernel": "CPU: '{}'",
    "composite": "CompositeExplicitAutograd: '{}'",
    "kernel's function": "CPU: 'opwright_kernels:{}'",
    "kernel's module": "CPU: '{}:f'",
    "text in a formula": "CPU: 'xp.add(self, \"{}\")'",
    "attribute in a formula": "CPU: 'xp.{}(self)'",
    "keyword in a formula": "CPU: 'xp.add(self, {}=n)'",
}
ENTRY = "- func: NS::f(Tensor self, int n=1) -> Tensor\n  meta: pointwise(self)\n"
KERNEL = "  dispatch:\n    CPU: xp.add(self, n)\n"


def scalar(text: str) -> str:
    """The text as YAML in double quotes."""
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08x}" for c in text) + '"'


def entries(field: str, text: str) -> str:
    """A file whose field is the text."""
    if field in FUNCS:
        return f"- func: {scalar(FUNCS[field].replace('{}', text))}\n"
    if field in DISPATCH:
        key, _, value = DISPATCH[field].partition(": ")
        pair = f"{scalar(key.strip(chr(39)).replace('{}', text))}: {scalar(value.strip(chr(39)).replace('{}', text))}"
        return f"{ENTRY}  dispatch:\n    {pair}\n"
    if field == "meta":
        return f"{ENTRY.partition('  meta')[0]}  meta: {scalar(text)}\n{KERNEL}"
    if field == "key":
        return f"{ENTRY}{KERNEL}  {scalar(text)}: 1\n"
    value = f"[{scalar(text)}]" if field in ("precomputed", "cpp_no_default_args") else scalar(text)
    return f"{ENTRY}{KERNEL}  {field}: {value}\n"


@pytest.mark.once  # files in, messages out
@pytest.mark.parametrize("field", [*FUNCS, *DISPATCH, *KEYS, "meta", "key"])
def test_text_in_a_field(field: str, tmp_path: Path) -> None:
    accepted = 0
    tried = sweeps.share(list(HOSTILE.values()), 10, field)  # each text in many fields; in every one with --slow
    for number, text in enumerate(tried):
        folder = tmp_path / str(number)
        folder.mkdir()
        namespace = new_namespace()
        run = generate(folder, entries(field, text).replace("NS", namespace))
        if run.status:
            assert_refused(run)
            assert sorted(path.name for path in folder.iterdir()) == ["ops.yaml", "pyproject.toml"]
        else:
            accepted += 1
            with imported(run):
                assert opwright.ops.__getattr__(namespace if field != "namespace" else text)
        assert not list(tmp_path.rglob("canary*")) and not Path("canary").exists()
    assert accepted < len(tried) or field in ("str default", "doc")


# -- names that are names


WORDS = (
    "self", "cls", "args", "kwargs", "modes", "keys", "kernel", "np", "cp", "ndarray", "Tensor", "ops", "item", "kind",
    "kind1", "kind2", "_op", "type", "list", "tuple", "int", "float", "str", "bool", "complex", "builtins", "Operator",
    "active_modes", "plan", "plan0", "plan1", "plans", "target", "target0", "result", "result0", "result1", "results",
    "wrap", "wrap_view", "rules", "math", "dtypes", "made", "zip", "ARRAYS", "eval", "exec", "print", "__import__",
    "__class__", "__builtins__", "__debug__", "from", "match", "_", "__", "self_", "_self",
    "y_", "_y", "KeyError", "TypeError", "out", "range", "len", "any", "NDArray", "Any", "Scalar", "hostile_kernels",
    "hostile_kernels_kernels", "annotations", "register", "call", "convert", "name", "operator", "more",
)  # fmt: skip
KERNELS = """\
from opwright import rules
def rule(a, b, c): return rules.pointwise(a, b)
def minus(a, b, c): return (a - b) * c
def plus(a, b, c): return (a + b) * c
def nth(a, b, c): return (a[0] - b) * c[1]
def both(a, b): return a + 1, a * 2 if b is None else b
"""
# Each: the schema, `meta`, the formula, a kernel for names that no formula may mention, and arguments for a result.
FORMS = {
    "first": ("(Tensor {0}, Tensor y, Scalar z=1)", "pointwise({0}, y)", "xp.subtract({0}, y) * z", "minus"),
    "number": ("(Tensor x, Tensor y, Scalar {0}=1)", "pointwise(x, y)", "xp.add(x, y) * {0}", "plus"),
    "list": ("(Tensor[] {0}, Tensor y, int[] z=[1, 2])", "pointwise({0}[0], y)", "({0}[0] - y) * z[1]", "nth"),
    "optional": (
        "(Tensor y, *, Tensor? {0}=None)",
        "(pointwise(y), pointwise(y))",
        "(y + 1, y * 2 if {0} is None else {0})",
        "both",
    ),
}


def declared(namespace: str, word: str, form: str) -> str:
    arguments, meta, formula, kernel = FORMS[form]
    returns = "(Tensor, Tensor)" if form == "optional" else "Tensor"
    if word.startswith("__"):
        formula = f"hostile_kernels:{kernel}"
        meta = {"first": "hostile_kernels:rule", "list": "like(y)"}.get(form, meta)
    func = f"{namespace}::f_{word}_{form}{arguments} -> {returns}".replace("{0}", word)
    return f"- func: {func}\n  meta: {meta}\n  dispatch:\n    CPU: {formula}\n".replace("{0}", word)


def test_arguments_of_any_name(tmp_path: Path) -> None:
    """Whatever an argument is called, by position and by name, with arrays and with Tensors, results are right."""
    namespace = new_namespace()
    text = "".join(declared(namespace, word, form) for word in WORDS for form in FORMS)
    x, y = np.array([5.0, 7.0]), np.array([1.0, 2.0])
    run = generate(tmp_path, text, kernels=KERNELS)
    with imported(run) as package:
        for word in WORDS:
            for make in (np.array, opwright.tensor):
                a, b = make(x), make(y)
                first, number, list_, optional = (getattr(package.ops, f"f_{word}_{form}") for form in FORMS)
                found = [
                    (first(a, b, 3), (x - y) * 3),
                    (first(**{word: a, "y": b, "z": 3}), (x - y) * 3),
                    (number(a, b, 3), (x + y) * 3),
                    (number(a, b, **{word: 3}), (x + y) * 3),
                    (number(a, b), x + y),
                    (list_([a], b, [1, 3]), (x - y) * 3),
                    (list_(**{word: [a], "y": b}), (x - y) * 2),
                    (optional(b)[1], y * 2),
                    (optional(b, **{word: a})[1], x),
                ]
                for number_of, (result, expected) in enumerate(found):
                    assert np.array_equal(np.asarray(result), expected), (word, number_of)


def test_an_argument_that_hides_its_own_function(tmp_path: Path) -> None:
    namespace = new_namespace()
    names = ["f_A", "_f_A", "_f", "f", "f_B"]
    arguments = ", ".join(f"Tensor {name}" for name in names)
    text = "".join(
        f"- func: {namespace}::f.{overload}({arguments}, {kind} n) -> Tensor\n"
        f"  meta: pointwise({', '.join(names)})\n  dispatch:\n    CPU: ({' + '.join(names)}) * n\n"
        for overload, kind in (("A", "Tensor"), ("B", "Scalar"))
    )
    with imported(generate(tmp_path, text)) as package:
        x = np.ones(2)
        for times in (x * 2, 2):
            assert package.ops.f(x, x, x, x, x, times).tolist() == [10.0, 10.0]


OPERATORS = (
    "self", "kernel", "np", "ops", "Tensor", "Operator", "install", "KERNELS", "METHODS", "eval", "exec", "print",
    "list", "dict", "tuple", "type", "int", "float", "str", "bool", "zip", "any", "class", "import", "None",
    "register", "methods", "composites", "rules", "wrap", "packet", "active_modes", "modes", "A", "_", "_f", "true",
    "ndarray", "kernels_cpu", "annotations", "Any", "TYPE_CHECKING", "builtins", "math", "dtypes", "Packet", "array",
    "keys", "__and__", "_OPERANDS", "KeyError", "AttributeError", "ValueError", "k" * 100,
)  # fmt: skip


def test_operators_of_any_name(tmp_path: Path) -> None:
    namespace = new_namespace()
    text = "".join(
        f"- func: {namespace}::{name}{overload}(Tensor self, {kind} y) -> Tensor\n"
        f"  variants: function, method\n  meta: pointwise(self, y)\n  dispatch:\n    CPU: xp.subtract(self, y)\n"
        for name in OPERATORS
        for overload, kind in (("", "Tensor"), (".number", "Scalar"))
    ) + "".join(
        f"- func: {namespace}::c{number}(Tensor self) -> Tensor\n"
        f"  dispatch:\n    CompositeExplicitAutograd: {name}(self, self)\n"
        for number, name in enumerate(OPERATORS)
        if name not in ("class", "import", "None", "_", "__and__", "self")
    )
    x, y = np.array([5.0, 7.0]), np.array([1.0, 2.0])
    with imported(generate(tmp_path, text)):
        of_namespace = getattr(opwright.ops, namespace)
        for number, name in enumerate(OPERATORS):
            assert packet(f"{namespace}::{name}") is getattr(of_namespace, name)
            for make in (np.array, opwright.tensor):
                for function in (getattr(of_namespace, name), getattr(of_namespace, name).stub):
                    assert np.asarray(function(make(x), make(y))).tolist() == [4.0, 5.0], name
                    assert np.asarray(function(make(x), 1.0)).tolist() == [4.0, 6.0], name
            if hasattr(of_namespace, f"c{number}"):
                assert getattr(of_namespace, f"c{number}")(x).tolist() == [0.0, 0.0], name


@pytest.mark.parametrize("name", ["__class__", "__getattr__", "__init__", "__del__", "__builtins__", "__dict__"])
def test_names_of_python_are_no_operators(name: str, tmp_path: Path) -> None:
    for func in (f"NS::{name}", f"{name}::f", f"NS::f.{name}"):
        text = f"- func: {func}(Tensor self) -> Tensor\n  variants: function, method\n"
        run = generate(tmp_path, text.replace("NS", new_namespace()))
        assert_refused(run)
        assert "[reserved-name]" in run.stderr


def test_text_in_a_schema_stays_text(tmp_path: Path) -> None:
    """Strings reach the kernel as they were written, and comments as what can be seen."""
    values = [text for text in HOSTILE.values() if len(text) < 100]
    namespace = new_namespace()
    text = "".join(
        f"- func: {scalar(f'{namespace}::f{number}(Tensor self, str text={_literal(value)}) -> str')}\n"
        "  dispatch:\n    CPU: hostile_kernels:same\n"
        for number, value in enumerate(values)
    )
    run = generate(tmp_path, text, kernels="def same(array, text): return text\n")
    with imported(run):
        for number, value in enumerate(values):
            assert getattr(getattr(opwright.ops, namespace), f"f{number}")(opwright.tensor([1.0])) == value
    for path in run.package.glob("*.py*"):
        if path.is_file():
            assert all(c.isprintable() or c == "\n" for c in path.read_text(encoding="utf-8"))
    assert not list(tmp_path.rglob("canary"))


def _literal(text: str) -> str:
    """The text as a schema's string, escaped where it must be and where it may be."""
    return '"' + "".join(c if c.isalnum() or c in " #{}%" else f"\\U{ord(c):08x}" for c in text) + '"'


# -- files and folders


@pytest.mark.once  # files in, messages out
@pytest.mark.skipif(os.name == "nt", reason="file names of Windows have none of this")
@pytest.mark.parametrize(
    "name",
    [
        "a\nimport os; os.mkdir('canary')\n.yaml",
        "a\rimport os; os.mkdir('canary')\r.yaml",
        "coding=utf_7 .yaml",
        "coding: rot13",
        "-*- coding: utf-16 -*-",
        '"""',
        "'",
        "{{ x }}",
        "# x",
        "a\u202eb",
        "a\\",
        "--output",
        "a b.yaml",
    ],
)
def test_the_name_of_a_schema_file(name: str, tmp_path: Path) -> None:
    namespace = new_namespace()
    run = generate(tmp_path, (ENTRY + KERNEL).replace("NS", namespace), name=name)
    with imported(run):
        assert getattr(opwright.ops, namespace).f(np.ones(2)).tolist() == [2.0, 2.0]
    assert not list(tmp_path.rglob("canary")) and not Path("canary").exists()


@pytest.mark.skipif(os.name == "nt", reason="file names of Windows are Unicode")
def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    namespace = new_namespace()
    run = generate(tmp_path, (ENTRY + KERNEL).replace("NS", namespace), name=os.fsdecode(b"a\xff.yaml"))
    with imported(run):
        assert getattr(opwright.ops, namespace).f(np.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.once  # files in, messages out
@pytest.mark.parametrize(
    "folder", ["class", "a-b", "a b", "1a", "a\nb", "..", "/", "\udcff", "k" * 300, "ops.yaml", "ops.yaml/x"]
)
def test_folders_that_are_no_package(folder: str, tmp_path: Path) -> None:
    project = tmp_path / "no-package" / "project"
    project.mkdir(parents=True)
    found = start(project, ENTRY.replace("NS", "x") + KERNEL, "generate", "ops.yaml", "-o", folder)
    assert found.returncode in (1, 2)
    assert found.stderr and "Traceback" not in found.stderr and "an error of its own" not in found.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["no-package", "ops.yaml", "project"]


# -- files that are no schemas, in a process with little memory


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from opwright_codegen.cli import main
sys.exit(main(sys.argv[2:]))
"""


def start(folder: Path, text: str | bytes, *arguments: str, memory: int = 1 << 30) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which may use so many bytes."""
    (folder / "ops.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    if os.name == "nt":
        pytest.skip("Windows cannot limit a process so")
    return run_python("-c", _LIMITED, str(memory), *arguments, cwd=folder)


FILES: dict[str, str | bytes] = {
    "tag that calls": "- func: !!python/object/apply:os.mkdir ['canary']\n",
    "tag that is a name": "- !!python/name:os.system x\n",
    "tag of ours": "- !x\n  func: f(Tensor self) -> Tensor\n",
    "bomb": "- k0: &k0 x\n" + "".join(f"  k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 10)}]\n" for i in range(1, 60)),
    "bomb of keys": "- a: &a {x: 1}\n" + "".join(f"- <<: [{', '.join(['*a'] * 50)}]\n" for _ in range(1000)),
    "deep lists": "[" * 10_000,
    "deep lists, closed": "[" * 10_000 + "]" * 10_000,
    "deep mappings": "{a: " * 10_000,
    "deep blocks": "".join(" " * i + "-\n" for i in range(2000)),
    "deep keys": "? " * 10_000,
    "deep in a func": "- func: f(" + "(" * 10_000 + ") -> ()\n",
    "deep in a type": "- func: f(int" + "[]" * 9_000 + " x) -> ()\n",
    "deep in a formula": ENTRY.replace("NS", "x") + f"  dispatch: {{CPU: {'(' * 9_000}self{')' * 9_000}}}\n",
    "garbage": bytes(range(256)) * 100,
    "UTF-16": (ENTRY + KERNEL).encode("utf-16"),
    "zeros": b"\0" * 10_000,
    "an executable": Path(sys.executable).read_bytes()[:1_000_000],
    "50 MB in a line": "- func: " + "x" * 50_000_000,
    "50 MB of lines": "- func: f(Tensor self) -> Tensor\n" * 1_500_000,
    "50 MB of nothing": "\n" * 50_000_000,
    "50 MB of comments": "# x\n" * 12_500_000,
    "more than 64 MB": b"#" * (65 << 20),
}


@pytest.mark.once  # files in, messages out
@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_schemas(name: str, tmp_path: Path) -> None:
    found = start(tmp_path, FILES[name], "generate", "ops.yaml", "-o", "out")
    assert found.returncode == 1, found.stderr[-2000:]
    assert found.stdout == ""
    assert "error: " in found.stderr and "Traceback" not in found.stderr
    assert len(found.stderr) < 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["ops.yaml"]


def test_usage(tmp_path: Path) -> None:
    for arguments in (["generate"], ["generate", "ops.yaml"], ["generate", "--no-such"], ["show"]):
        found = start(tmp_path, ENTRY.replace("NS", "x") + KERNEL, *arguments)
        assert found.returncode == 2, arguments
        assert found.stderr and "Traceback" not in found.stderr
