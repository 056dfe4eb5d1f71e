"""Schema files of any operators, generated and called: the code is clean, and calls end in results or our errors."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipeline import assert_refused, generate, imported, new_namespace
from strategies import names, schemas

import opwright
from opwright.errors import ArgumentError, DispatchError
from opwright_codegen.records import replace
from opwright_codegen.schema.model import Argument, Default, EnumName, FunctionSchema, OperatorName, Return
from opwright_codegen.schema.rules import schema_problems
from opwright_codegen.schema.types import Annotation, BaseType, ListType, OptionalType, Type
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry

# What a caller may pass for each of the types that our own schemas use, and what a default of it may be.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "int": ([0, -3, np.int64(2)], [0, -1, 2**40, EnumName("Mean")]),
    "SymInt": ([0, 7], [0, -1]),
    "float": ([0.5, 1], [1e-05, float("inf"), float("nan"), -0.0]),
    "bool": ([True], [True, False]),
    "str": (["", "x"], ["", "a\"b'c", "\\", "\n", "{{ x }}", "\u202e", "#"]),
    "Scalar": ([1, 2.5, 1j, True], [1, 2.5, True]),
    "ScalarType": ([np.float32, "int64"], [EnumName("long"), EnumName("float")]),
    "Layout": (["strided"], [EnumName("strided")]),
    "Device": (["cpu", opwright.device("cpu")], ["cpu", "cuda:0"]),
    "MemoryFormat": ([], [EnumName("contiguous_format")]),
    "Generator": ([], []),
    "Tensor": ([np.ones(2), opwright.tensor([1.0])], []),
}
WORDS = ["self", "keys", "kernel", "modes", "kind", "np", "ops", "from", "kwargs", "args", "list", "_f", "result0"]
words = names | st.sampled_from(WORDS) | st.from_regex(r"[a-z]{12,24}", fullmatch=True)


def is_free(name: str) -> bool:
    return not (name.startswith("__") or name.endswith(("_", "_out")) or name in ("None", "True", "False"))


def is_overload(name: str) -> bool:
    return not name.startswith("__") and name != "default" and "functional" not in name


bases = words.filter(is_free)
types: st.SearchStrategy[Type] = st.sampled_from(sorted(VALUES)).map(BaseType)
types = types | types.map(OptionalType) | st.builds(ListType, types, st.none() | st.integers(1, 3))
types = types | st.builds(ListType, st.just(OptionalType(BaseType("Tensor"))), st.none())


@st.composite
def arguments(draw: st.DrawFn, name: str, kwarg_only: bool, has_default: bool) -> Argument:
    type = draw(types)
    default = None
    if has_default:
        value = draw(defaults(type))
        default = None if value is Ellipsis else Default(value)
        if default is None:
            type, default = OptionalType(type) if not isinstance(type, OptionalType) else type, Default(None)
    return Argument(name, type, default, None, kwarg_only)


def defaults(type: Type) -> st.SearchStrategy[Any]:
    """A value for a default of the type; an Ellipsis where there is none."""
    match type:
        case OptionalType(elem):
            return st.none() | defaults(elem).map(lambda value: None if value is Ellipsis else value)
        case ListType(elem, size):
            found = defaults(elem).filter(lambda value: not isinstance(value, EnumName))
            if isinstance(elem, BaseType) and elem.name in ("int", "float", "bool", "str"):
                count = {"max_size": 3} if size is None else {"min_size": size, "max_size": size}
                return st.lists(found, **count).map(tuple)
            return st.just(Ellipsis)
        case BaseType(name) if VALUES[name][1]:
            return st.sampled_from(VALUES[name][1])
        case _:
            return st.just(Ellipsis)


@st.composite
def operators(draw: st.DrawFn, namespace: str, base: str, overload: str) -> FunctionSchema:
    """A schema that the rules about operators accept, of types that the runtime knows."""
    found = draw(st.lists(words.filter(lambda n: n == "from" or not iskeyword(n)), max_size=6, unique=True))
    positional = draw(st.integers(0, len(found)))
    first_default = draw(st.integers(0, positional))
    made = [
        draw(
            arguments(
                name, i >= positional, first_default <= i < positional or (i >= positional and draw(st.booleans()))
            )
        )
        for i, name in enumerate(found)
    ]
    if draw(st.booleans()):
        # A write makes it a mutable operator, as batch_norm is one.
        made = [
            Argument(a.name, a.type, None, Annotation(("z",), True)) if _is_written(a, i) else a
            for i, a in enumerate(made)
        ]
    returns = draw(st.lists(st.sampled_from(["Tensor", "int", "bool", "Scalar"]).map(BaseType), max_size=3))
    return FunctionSchema(OperatorName(namespace, base, overload), tuple(made), tuple(Return(None, t) for t in returns))


def _is_written(argument: Argument, position: int) -> bool:
    return (
        position == 0 and argument.type == BaseType("Tensor") and argument.default is None and not argument.kwarg_only
    )


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str, list[FunctionSchema]]:
    """A namespace, a schema file, and the schemas in it: some packets of one or more overloads."""
    namespace = new_namespace()
    found: dict[tuple[str, FunctionSchema], FunctionSchema] = {}
    overloads = st.lists(st.just("") | names.filter(is_overload), min_size=1, max_size=3, unique=True)
    for base in draw(st.lists(bases, min_size=1, max_size=4, unique=True)):
        for overload in draw(overloads):
            schema = draw(operators(namespace, base, overload))
            found.setdefault((base, schema.signature()), schema)  # two of one signature would be one operator
    entries = []
    for schema in found.values():
        quoted = str(schema).replace("'", "''")
        entries.append(
            f"- func: '{quoted}'\n  tags: nondeterministic_seeded\n  dispatch: {{CPU: unbound, CUDA: unbound}}\n"
        )
    return namespace, "".join(entries), list(found.values())


def value_of(type: Type, draw: Any) -> Any:
    """Something that may be passed, or something that may not."""
    if draw(st.integers(0, 5)) == 0:
        return draw(
            st.sampled_from([None, object(), "no", -1, [], [None], {}, np.ones(()), float("nan"), [[1]], b"", 2**70])
        )
    match type:
        case OptionalType(elem):
            return draw(st.sampled_from([None, value_of(elem, draw)]))
        case ListType(elem):
            return [value_of(elem, draw) for _ in range(draw(st.integers(0, 3)))]
        case BaseType(name) if VALUES[name][0]:
            return draw(st.sampled_from(VALUES[name][0]))
        case _:
            return None


def call(function: Any, schema: FunctionSchema, draw: Any) -> None:
    """Call it with arguments that are roughly right; there is no kernel, so that no call succeeds."""
    args, kwargs = [], {}
    for argument in schema.arguments:
        if draw(st.integers(0, 9)) == 0:
            break
        value = value_of(argument.type, draw)
        if argument.kwarg_only or kwargs or draw(st.booleans()):
            kwargs[argument.name] = value
        else:
            args.append(value)
    if draw(st.integers(0, 9)) == 0:
        kwargs["nothing"] = 1
    with pytest.raises((ArgumentError, TypeError, DispatchError)) as caught:
        function(*args, **kwargs)
    assert str(caught.value)


@given(files(), st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_operators(found: tuple[str, str, list[FunctionSchema]], data: st.DataObject) -> None:
    namespace, text, declared = found
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        run = generate(Path(folder), text)
        with imported(run) as package:
            for schema in declared:
                packet = getattr(getattr(opwright.ops, namespace), schema.name.base)
                operator = packet.operators[schema.name.overload]
                assert str(operator.schema) == str(schema)
                for _ in range(3):
                    call(data.draw(st.sampled_from([operator.stub, operator, packet, packet.stub])), schema, data.draw)
            assert package.ops.__all__ is not None
        clean(run.package)


def clean(package: Path) -> None:
    """ruff finds nothing to do in any file."""
    for command in (["format", "--check", "--diff"], ["check", "--select", "E,F,W,B,UP", "--ignore", "E501,E741,E743"]):
        options = ["--no-cache", "--isolated", "--line-length", "120"]
        found = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *options, str(package)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stdout[:3000] + found.stderr


@pytest.mark.parametrize("length", [9, 19, 24, 32, 40, 48])
def test_ints_with_names_of_any_length(tmp_path: Path, length: int) -> None:
    """What tests that an int has 64 bits names it twice, and an int that may be None three times."""
    name = "n" * length
    arguments = f"Tensor x, int a_{name}, int? b_{name}=None"
    text = f"- func: {new_namespace()}::f({arguments}) -> Tensor\n  dispatch: {{CPU: unbound}}\n"
    run = generate(tmp_path, text)
    assert run.status == 0, run.stderr
    clean(run.package)


@given(st.lists(schemas(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_schemas(found: list[FunctionSchema]) -> None:
    """Most of what the syntax can express is no operator: then that is said. The rest is generated and imported."""
    namespace = new_namespace()
    texts = []
    for schema in found:
        name = replace(schema.name, namespace=namespace)
        text = str(replace(schema, name=name, text=None))
        if not schema_problems(FunctionSchema.parse(text)) or not texts:
            texts.append(text)
    with tempfile.TemporaryDirectory() as folder:
        run = generate(Path(folder), "".join("- func: '" + text.replace("'", "''") + "'\n" for text in texts))
        if run.status:
            assert_refused(run)
        else:
            with imported(run) as package:
                assert package.ops.__all__ is not None
                assert {f"{o.name}{o.declaration}" for o in operators_of(namespace)} == set(texts)


def operators_of(namespace: str) -> list[Operator]:
    return [found for found in registry.operators.values() if found.namespace == namespace]


def test_an_operator_named_by_a_keyword_alone(tmp_path: Path) -> None:
    """It is no attribute of a class, so that its stub says nothing of how it is called as one."""
    run = generate(tmp_path, f"- func: '{new_namespace()}::from() -> ()'\n  dispatch: {{CPU: unbound}}\n")
    assert run.status == 0, run.stderr
    clean(run.package)
