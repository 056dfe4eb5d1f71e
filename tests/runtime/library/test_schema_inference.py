"""Schemas inferred from annotations: equal to PyTorch's where it infers one, and the further ones it refuses."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import re
import types
import typing
from collections.abc import Callable
from typing import Any, List  # noqa: UP035

import numpy as np
import numpy.typing
import pytest

import opwright
from opwright import Tensor
from opwright.inspection import schema as _schema
from opwright.library.schema_inference import infer, infer_schema

TYPES = [
    ("Tensor", "Tensor"),
    ("Optional[Tensor]", "Tensor?"),
    ("Tensor | None", "Tensor?"),
    ("List[Tensor]", "Tensor[]"),
    ("Sequence[Tensor]", "Tensor[]"),
    ("List[Optional[Tensor]]", "Tensor?[]"),
    ("Sequence[Tensor | None]", "Tensor?[]"),
    ("int", "SymInt"),
    ("Optional[int]", "SymInt?"),
    ("list[int]", "SymInt[]"),
    ("Optional[List[int]]", "SymInt[]?"),
    ("Sequence[int] | None", "SymInt[]?"),
    ("float", "float"),
    ("Sequence[float]", "float[]"),
    ("None | list[float]", "float[]?"),
    ("bool", "bool"),
    ("List[bool]", "bool[]"),
    ("str", "str"),
    ("str | None", "str?"),
    ("Union[int, float, bool]", "Scalar"),
    ("Optional[Union[bool, int, float]]", "Scalar?"),
    ("List[Union[int, float, bool]]", "Scalar[]"),
    ("torch.dtype", "ScalarType"),
    ("Optional[torch.dtype]", "ScalarType?"),
    ("torch.device", "Device"),
    ("enum.Enum", "enum.Enum"),
    ("enum.IntFlag", "enum.Enum"),
]
# What PyTorch refuses.
FURTHER = [
    ("complex", "complex"),
    ("list[complex]", "complex[]"),
    ("list[str]", "str[]"),
    ("Sequence[str] | None", "str[]?"),
    ("list[Tensor] | None", "Tensor[]?"),
    ("list[torch.dtype]", "ScalarType[]"),
    ("opwright.Generator", "Generator"),
    ("opwright.Generator | None", "Generator?"),
    ("enum.Enum | None", "enum.Enum?"),
    ("list[enum.Enum]", "enum.Enum[]"),
    ("np.ndarray", "Tensor"),
    ("np.ndarray | None", "Tensor?"),
    ("list[np.ndarray]", "Tensor[]"),
    ("numpy.typing.NDArray[np.float64]", "Tensor"),
    ("Annotated[Tensor, 'rows']", "Tensor"),
]
REFUSED = [
    "tuple[int, int]",
    "tuple",
    "dict",
    "dict[str, int]",
    "Dataclass",
    "Literal[1, 2]",
    "Callable[[int], int]",
    "List[Optional[int]]",
    "Union[int, float]",
    "list[list[int]]",
    "object",
    "torch.Layout",
    "torch.MemoryFormat",
    "opwright.nn",
    "3",
]
RESULTS = [
    ("None", "()"),
    ("Tensor", "Tensor"),
    ("List[Tensor]", "Tensor[]"),
    ("int", "SymInt"),
    ("float", "float"),
    ("bool", "bool"),
    ("Union[int, float, bool]", "Scalar"),
    ("tuple[Tensor, Tensor]", "(Tensor, Tensor)"),
    ("tuple[Tensor]", "((Tensor))"),
    ("tuple[List[Tensor], int]", "(Tensor[], SymInt)"),
]
FURTHER_RESULTS = [
    ("Optional[Tensor]", "Tensor?"),
    ("tuple[Tensor | None, Tensor]", "(Tensor?, Tensor)"),
    ("tuple[Tensor, ...]", "Tensor[]"),
    ("complex", "complex"),
    ("np.ndarray", "Tensor"),
    ("tuple[np.ndarray, Tensor]", "(Tensor, Tensor)"),
]


@dataclasses.dataclass(frozen=True)
class Dataclass:
    number: int


def made(library: Any, parameters: str, result: str = "Tensor", quoted: bool = False) -> Any:
    """A function whose annotations name the classes of this library or of PyTorch."""
    names = {**vars(typing), "math": math, "np": np, "numpy": np, "opwright": opwright, "torch": library}
    names |= {"Tensor": library.Tensor, "enum": enum, "Dataclass": Dataclass}
    source = f"def f({parameters}) -> {result}: ..."
    if quoted:
        source = "from __future__ import annotations\n" + source
    exec(compile(source, "<made>", "exec", dont_inherit=True), names)
    return names["f"]


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("written, text", TYPES + FURTHER)
def test_types_of_parameters(written: str, text: str, quoted: bool) -> None:
    function = made(opwright, f"x: {written}", quoted=quoted)
    assert infer_schema(function, mutates_args=()) == f"({text} x) -> Tensor"


@pytest.mark.parametrize("written, text", RESULTS + FURTHER_RESULTS)
def test_types_of_results(written: str, text: str) -> None:
    for quoted in (False, True):
        function = made(opwright, "x: Tensor", written, quoted=quoted)
        assert infer_schema(function, mutates_args=(), op_name="f.a") == f"f.a(Tensor x) -> {text}"


@pytest.mark.parametrize("written", REFUSED)
def test_types_that_are_refused(written: str) -> None:
    for quoted in (False, True):
        with pytest.raises(ValueError, match=r"parameter 'x' has unsupported type(?s:.*)the valid types are"):
            infer_schema(made(opwright, f"x: {written}", quoted=quoted), mutates_args=())
    with pytest.raises(ValueError, match=r"the return has unsupported type(?s:.*)the valid types are"):
        infer_schema(made(opwright, "x: Tensor", "list[int]"), mutates_args=())


def test_a_literal_has_a_suggestion() -> None:
    with pytest.raises(ValueError, match="for example, int; the valid types are"):
        infer_schema(made(opwright, "x: Literal[1, 2]"), mutates_args=())
    with pytest.raises(ValueError, match=r"for example, str \| None; the valid types are"):
        infer_schema(made(opwright, "x: Optional[Literal['a']]"), mutates_args=())
    with pytest.raises(ValueError, match="hint: an argument has one type, and these values have several"):
        infer_schema(made(opwright, "x: Literal[1, None]"), mutates_args=())


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("dict[str, int]", "an operator takes no mappings: give its values as parameters, or keys and values as two"),
        ("dict", "an operator takes no mappings"),
        ("Dataclass", r"give the fields \(number\) as parameters, or the class to register_custom_class"),
    ],
)
def test_what_holds_several_values_has_advice(written: str, advice: str) -> None:
    with pytest.raises(ValueError, match=f"hint: {advice}(?s:.*)the valid types are"):
        infer_schema(made(opwright, f"x: {written}"), mutates_args=())
    with pytest.raises(ValueError, match=r"hint: return what it holds as tuple\[\.\.\.\]; the valid types are"):
        infer_schema(made(opwright, "x: Tensor", written), mutates_args=())


def test_a_tuple_has_a_suggestion_where_its_list_is_a_type() -> None:
    with pytest.raises(ValueError, match=r"for example, list\[int\]"):
        infer_schema(made(opwright, "x: tuple[int, int]"), mutates_args=())
    with pytest.raises(ValueError, match="hint: the valid types are"):
        infer_schema(made(opwright, "x: tuple[int, str]"), mutates_args=())


DEFAULTS = [
    ("x: Optional[Tensor] = None", "Tensor? x=None"),
    ("x: int = -3", "SymInt x=-3"),
    ("x: float = 1", "float x=1"),
    ("x: float = -1e-05", "float x=-1e-05"),
    ("x: bool = True", "bool x=True"),
    ("x: str = 'a, b)'", 'str x="a, b)"'),
    ("x: torch.dtype = torch.float32", "ScalarType x=float32"),
    ("x: torch.device = torch.device('cpu')", 'Device x="cpu"'),
    ("x: Optional[torch.device] = torch.device('cuda:1')", 'Device? x="cuda:1"'),
    ("x: Union[int, float, bool] = 2.5", "Scalar x=2.5"),
    ("x: float = math.inf", "float x=inf"),
]
FURTHER_DEFAULTS = [
    ("x: list[int] = [1, 2]", "SymInt[] x=[1, 2]"),
    ("x: Sequence[int] = (1, 2)", "SymInt[] x=[1, 2]"),
    ("x: list[float] | None = (0.5,)", "float[]? x=[0.5]"),
    ("x: list[str] = ['a']", 'str[] x=["a"]'),
    ("x: list[Tensor] = ()", "Tensor[] x=[]"),
    ("x: str = 'say \"hi\"'", r'str x="say \"hi\""'),
    ("x: str = 'a\\n\\\\b'", r'str x="a\n\\b"'),
    ("x: complex = 1 - 2j", "complex x=1.0-2.0j"),
    ("x: int = None", "SymInt? x=None"),
    ("x: int = np.int64(3)", "SymInt x=3"),
    ("x: torch.device = 'cpu'", 'Device x="cpu"'),
    ("x: list[torch.dtype] = [torch.int64]", "ScalarType[] x=[int64]"),
]


@pytest.mark.parametrize("written, text", DEFAULTS + FURTHER_DEFAULTS)
def test_defaults(written: str, text: str) -> None:
    function = made(opwright, written)
    assert infer_schema(function, mutates_args=()) == f"({text}) -> Tensor"


@pytest.mark.parametrize("written", ["x: int = 'a'", "x: bool = 1", "x: list[int] = 3", "x: float = object()",
                                     "x: Tensor = 3", "x: int = True", "x: torch.dtype = 'float32'"])  # fmt: skip
def test_defaults_that_their_types_do_not_take(written: str) -> None:
    with pytest.raises(ValueError, match="parameter 'x' has a default value that its type"):
        infer_schema(made(opwright, written), mutates_args=())


SIGNATURES = [
    "x: Tensor, n: int, *, y: Tensor, eps: float = 0.5",
    "self: Tensor, other: Optional[Tensor] = None",
    "*, x: Tensor",
    "",
    "x: Tensor, xs: List[Tensor], ys: Sequence[Optional[Tensor]], z: Optional[Tensor]",
]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "parameters, result, mutates",
    [
        *itertools.product(
            [*SIGNATURES, *(f"x: {t}" for t, _ in TYPES), *(d for d, _ in DEFAULTS if "inf" not in d)],
            ["Tensor"],
            [(), "unknown"],
        ),
        *((f"x: Tensor, y: {t}", r, ["x"]) for t, _ in TYPES for r, _ in RESULTS[:3]),
        (SIGNATURES[4], "None", {"xs", "ys", "z"}),
    ],
)
def test_pytorch_infers_the_same(parameters: str, result: str, mutates: Any) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (
        library_infer(made(library, parameters, result), mutates_args=mutates, op_name="f")
        for library_infer, library in ((infer_schema, opwright), (torch.library.infer_schema, torch))
    )
    assert ours == theirs


TAGGED = [
    ("inplace", "x: Tensor, y: Tensor", "Tensor", ["x"]),
    ("inplace", "x: Tensor, *, y: Tensor", "Tensor", ["y"]),
    ("inplace", "x: Tensor", "None", ["x"]),
    ("inplace", "x: List[Tensor]", "Tensor", ["x"]),
    ("inplace", "*, x: Tensor", "Tensor", ["x"]),
    ("inplace", "x: Tensor, y: Tensor", "Tensor", ["x", "y"]),
    ("inplace", "x: Tensor", "Tensor", "unknown"),
    ("out", "x: Tensor, *, out: Tensor", "Tensor", ["out"]),
    ("out", "x: Tensor, *, a: Tensor, b: Tensor", "tuple[Tensor, Tensor]", ["a", "b"]),
    ("out", "x: Tensor, *, a: Tensor, b: Tensor", "Tensor", ["a", "b"]),
    ("out", "x: Tensor, *, out: Tensor", "tuple[Tensor]", ["out"]),
    ("out", "x: Tensor, out: Tensor", "Tensor", ["out"]),
    ("out", "x: Tensor, *, out: Optional[Tensor]", "Tensor", ["out"]),
    ("out", "x: Tensor, *, out: List[Tensor]", "List[Tensor]", ["out"]),
    ("out", "x: Tensor", "Tensor", []),
    ("pointwise", "x: Tensor", "Tensor", []),
]


@pytest.mark.oracle
@pytest.mark.parametrize("tag, parameters, result, mutates", TAGGED)
def test_pytorch_holds_tags_to_the_same_rules(tag: str, parameters: str, result: str, mutates: Any) -> None:
    torch = pytest.importorskip("torch")
    try:
        theirs = torch.library.infer_schema(
            made(torch, parameters, result), mutates_args=mutates, tags=getattr(torch.Tag, tag)
        )
    except ValueError:
        theirs = None
    if mutates == "unknown":
        theirs = "(Tensor(a0!) x) -> Tensor(a0!)"  # one Tensor, so that all are the first
    function = made(opwright, parameters, result)
    if theirs is None:
        with pytest.raises(ValueError, match=f"the tag {tag} (requires|supports)"):
            infer_schema(function, mutates_args=mutates, tags=tag)
    else:
        assert infer_schema(function, mutates_args=mutates, tags=[opwright.Tag[tag]]) == theirs


def test_tags_that_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="mutually exclusive"):
        infer_schema(made(opwright, "x: Tensor"), mutates_args=["x"], tags=("inplace", "out"))
    with pytest.raises(ValueError, match="'outt' is not a valid Tag; the tags are core"):
        infer_schema(made(opwright, "x: Tensor"), mutates_args=["x"], tags="outt")


@pytest.mark.parametrize(
    "written", [d for d, _ in DEFAULTS + FURTHER_DEFAULTS] + [f"x: {t}" for t, _ in TYPES + FURTHER]
)
def test_the_text_is_as_it_is_parsed(written: str) -> None:
    """What an Operator is made of is the same as if the text was parsed and written again."""
    found = infer(made(opwright, f"a: Tensor, b: Tensor | None, *, {written}"), mutates_args=["a", "b"])
    assert found.declaration == _schema.declaration_of(_schema.parse_definition(f"n::f{found.declaration}"))
    assert found.mutated == (0, 1)


def test_which_arguments_are_arrays() -> None:
    function = made(
        opwright, "a: np.ndarray, b: Tensor, *, c: list[np.ndarray] | None = None", "tuple[np.ndarray, int]"
    )
    found = infer(function, mutates_args=())
    assert (found.arrays, found.returns_arrays) == ((0, 2), True)
    assert not infer(made(opwright, "b: Tensor"), mutates_args=()).returns_arrays


def test_methods_and_wrapped_functions() -> None:
    class Scaler:
        def scale(self, x: Tensor, by: float = 2.0) -> Tensor: ...

    assert infer_schema(Scaler().scale, mutates_args=()) == "(Tensor x, float by=2.0) -> Tensor"

    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call

    assert (
        infer_schema(logged(made(opwright, "x: Tensor, n: int = 2")), mutates_args=())
        == "(Tensor x, SymInt n=2) -> Tensor"
    )


@pytest.mark.parametrize(
    "function, kind",
    [
        (functools.partial(made(opwright, "x: Tensor"), x=3), "a partial object"),
        (len, "the builtin <built-in function len>"),
        (np.add, "a ufunc object"),
        (opwright.ops.aten.add, "a Packet object"),
        (Tensor, "the class Tensor"),
        (3, "3, which cannot be called"),
    ],
)
def test_what_is_no_python_function(function: Any, kind: str) -> None:
    with pytest.raises(ValueError, match=f"from a Python function alone, not from {re.escape(kind)}(?s:.*)hint: "):
        infer_schema(function, mutates_args=())


def missing(
    x: Tensor,
    y,  # type: ignore[no-untyped-def]
) -> Tensor: ...


def without_result(x: Tensor): ...  # type: ignore[no-untyped-def]


def elsewhere(x: Tensor, y: List["Matrix"]) -> Tensor: ...  # type: ignore[name-defined]  # noqa: F821, UP006, UP037


def test_errors_show_where() -> None:
    with pytest.raises(ValueError) as raised:
        infer_schema(missing, mutates_args=())
    lines = str(raised.value).splitlines()
    line = missing.__code__.co_firstlineno + 2
    assert re.fullmatch(
        rf".*test_schema_inference\.py:{line}:5: error: cannot infer the schema of missing: parameter 'y' must have a "
        r"type annotation \[annotation\]",
        lines[0],
    )
    assert lines[1] == "        y,  # type: ignore[no-untyped-def]"
    assert lines[2] == "        ^"
    assert lines[3].startswith("hint: write one of Tensor, int")
    assert lines[4] == "the function's signature: missing(x: 'Tensor', y) -> 'Tensor'"
    with pytest.raises(ValueError, match=r"(?m)no return type annotation(?s:.*)^    \^{18}$"):
        infer_schema(without_result, mutates_args=())
    with pytest.raises(ValueError, match=r"(?m)It is not a type \(NameError: .*'Matrix'(?s:.*)^ +\^{17}$"):
        infer_schema(elsewhere, mutates_args=())


def test_errors_without_a_file() -> None:
    with pytest.raises(
        ValueError, match=r"(?m)^<function>:1:11: error: .*\n    f\(x: .*, y\) -> .*\n              \^$"
    ):
        infer_schema(made(opwright, "x: int, y"), mutates_args=())


def test_a_type_known_where_the_caller_stands_is_not_known() -> None:
    Matrix = Tensor

    def local(x: "Matrix") -> Tensor: ...  # noqa: UP037

    with pytest.raises(ValueError, match="quoted annotations are read in the function's module"):
        infer_schema(local, mutates_args=())


def test_names_that_need_no_import() -> None:
    function = made(opwright, "x: 'Tensor', d: 'device', t: 'dtype', n: 'types.Number', s: 'Sequence[int]'")
    bare = types.FunctionType(function.__code__, {}, "f")
    bare.__annotations__ = function.__annotations__
    assert infer_schema(bare, mutates_args=()) == "(Tensor x, Device d, ScalarType t, Scalar n, SymInt[] s) -> Tensor"


@pytest.mark.oracle
@pytest.mark.parametrize(
    "parameters, mutates, message",
    [
        ("x: Tensor, /", (), "parameter 'x' is positional-only"),
        ("*x: Tensor", (), "parameter 'x' is variable"),
        ("**x: Tensor", (), "parameter 'x' is variable"),
        ("x: Tensor", "x", "mutates_args is a sequence of names of arguments, or the string 'unknown'"),
        ("x: Tensor", ["y"], "'y' in mutates_args was not found"),
        ("x: int", ["x"], "only Tensors or lists of Tensors can be mutated"),
    ],
)
def test_further_errors(parameters: str, mutates: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        infer_schema(made(opwright, parameters), mutates_args=mutates)
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError):
        torch.library.infer_schema(made(torch, parameters), mutates_args=mutates)


def test_mutates_args_must_be_given() -> None:
    with pytest.raises(TypeError, match="mutates_args"):
        infer_schema(missing)  # type: ignore[call-arg]


@pytest.mark.oracle
def test_tags_are_those_of_pytorch_and_of_the_file() -> None:
    assert math.prod(tag == tag.name for tag in opwright.Tag)
    torch = pytest.importorskip("torch")
    theirs = {name for name in dir(torch.Tag) if not name.startswith("_")} - {"name", "value"}
    assert {tag.name for tag in opwright.Tag} == theirs
