"""Programs that define and call custom operators, in words that both libraries share: `lib` is `opwright` or `torch`.

Each defines operators of its own namespace and returns what the two libraries must agree in: numbers, lists, dtypes as
text, flags, names of error classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright import Tensor, device, dtype

__all__ = ["PROGRAMS", "Side", "program", "shown"]


class Side:
    """A library, and what programs ask of it."""

    def __init__(self, lib: Any, namespace: str) -> None:
        self.lib = lib
        self.namespace = namespace
        self.kept: list[Any] = []  # operators live as long as what defined them

    def op(self, function: Callable[..., Any], name: str = "f", **options: Any) -> Any:
        """Define an operator in the program's namespace, annotated with the library's types."""
        own = {"Tensor": self.lib.Tensor, "dtype": self.lib.dtype, "device": self.lib.device}
        annotations = {key: _typed(text, own) for key, text in function.__annotations__.items()}
        function.__annotations__ = annotations
        options = {"mutates_args": ()} | options
        made = self.lib.library.custom_op(f"{self.namespace}::{name}", function, **options)
        self.kept.append(made)
        return made

    def tensor(self, *values: Any, grad: bool = False, dtype: str = "float32") -> Any:
        """A tensor of one dimension."""
        return self.lib.tensor(list(values), dtype=getattr(self.lib, dtype), requires_grad=grad)

    def array(self, tensor: Any) -> Any:
        """The memory of a tensor."""
        return tensor.detach().numpy()

    def error(self, call: Callable[[], Any]) -> str:
        """The class of the error that a call raises, of those that both libraries have; "" for none."""
        try:
            call()
        except Exception as error:
            kinds = (NotImplementedError, RuntimeError, TypeError, ValueError, AttributeError)
            return next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)
        return ""


def _typed(text: Any, own: dict[str, Any]) -> Any:
    return eval(text, {"Sequence": Sequence} | own) if isinstance(text, str) else text


def shown(value: Any) -> Any:
    """A value that can be compared across libraries."""
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if hasattr(value, "tolist"):
        return [str(value.dtype).removeprefix("torch."), list(value.shape), shown(value.tolist())]
    return round(value, 5) if isinstance(value, float) else value


PROGRAMS: dict[str, Callable[[Side], Any]] = {}


def program(function: Callable[[Side], Any]) -> Callable[[Side], Any]:
    """Run it by both libraries."""
    PROGRAMS[function.__name__] = function
    return function


# Schemas (106, 110, 111, 113, 114)


def _schema(side: Side, function: Callable[..., Any], **options: Any) -> str:
    return str(side.op(function, **options)._opoverload._schema).replace(side.namespace, "N")


@program
def schemas_of_annotations(side: Side) -> Any:
    def f(
        x: Tensor, a: int, b: float, c: bool, d: str, e: dtype, g: device, h: Sequence[int], i: list[float],
    ) -> Tensor:  # fmt: skip
        return x.clone()

    return _schema(side, f)


@program
def schemas_of_optional_types(side: Side) -> Any:
    def f(
        x: Tensor | None, a: int | None, b: list[int] | None, c: Sequence[Tensor], d: list[Tensor | None],
        e: dtype | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return c[0].clone(), c[0] + 1

    return _schema(side, f)


@program
def schemas_of_defaults(side: Side) -> Any:
    def f(
        x: Tensor,
        a: int = -1,
        b: float = 0.5,
        c: bool = True,
        d: str = "text",
        *,
        e: int | None = None,
        g: float = 0.25,
    ) -> Tensor:
        return x.clone()

    return _schema(side, f)


@program
def schemas_of_writes(side: Side) -> Any:
    def f(x: Tensor, ys: list[Tensor], z: Tensor | None = None) -> None:
        pass

    return _schema(side, f, mutates_args={"x", "ys", "z"})


@program
def unknown_writes(side: Side) -> Any:
    def f(x: Tensor, n: int, y: Tensor) -> None:
        pass

    return _schema(side, f, mutates_args="unknown")


@program
def refused_definitions(side: Side) -> Any:
    def unannotated(x) -> Tensor:  # type: ignore[no-untyped-def]
        return x

    def mapping(x: dict) -> Tensor:  # type: ignore[type-arg]
        return x  # type: ignore[return-value]

    def nothing_said(x: Tensor):  # type: ignore[no-untyped-def]
        return x

    def many(*xs: Tensor) -> Tensor:
        return xs[0]

    def good(x: Tensor) -> Tensor:
        return x.clone()

    return [
        *[side.error(lambda f=f: side.op(f)) for f in (unannotated, mapping, nothing_said, many)],
        side.error(lambda: side.op(good, mutates_args={"y"})),
        side.error(lambda: side.op(good, mutates_args={"x"}, schema="(Tensor x) -> Tensor")),
        side.error(lambda: side.lib.library.custom_op(f"{side.namespace}::g", good)),
        side.error(lambda: side.lib.library.custom_op("nothing", good, mutates_args=())),
        side.error(lambda: side.op(good, device_types="no_such_device")),
    ]


@program
def a_schema_by_hand(side: Side) -> Any:
    def f(x, n=2, *, scale=1.5):  # type: ignore[no-untyped-def]
        return x * n * scale

    op = side.op(f, schema="(Tensor x, SymInt n=2, *, float scale=1.5) -> Tensor")
    x = side.tensor(1, 2)
    return op(x), op(x, 3), op(x, scale=2), op(n=1, x=x)


# Calls (116–121)


@program
def arguments_in_every_way(side: Side) -> Any:
    def f(x: Tensor, a: int = 1, *, b: float = 2.0) -> Tensor:
        return x * a + b

    op, x = side.op(f), side.tensor(1, 2)
    packet = getattr(side.lib.ops, side.namespace).f
    return op(x), op(x, 3), op(x, a=2, b=0.5), op(x=x, b=1), packet(x), packet.default(x, 4), packet(x, b=3.0)


@program
def wrong_arguments(side: Side) -> Any:
    def f(x: Tensor, a: int, s: str = "s") -> Tensor:
        return x.clone()

    op, x = side.op(f), side.tensor(1)
    packet = getattr(side.lib.ops, side.namespace).f.default
    calls = [
        lambda: op(x, 1), lambda: packet(x, 1.5), lambda: packet(x, 1, 2), lambda: packet(x),
        lambda: packet(x, 1, "a", 3), lambda: packet("x", 1), lambda: packet(x, 1, t=1), lambda: packet(x, None),
    ]  # fmt: skip
    return [bool(side.error(call)) for call in calls]


@program
def conversions(side: Side) -> Any:
    seen: list[Any] = []

    def f(x: Tensor, a: float, b: Sequence[int], c: Sequence[float], d: bool, e: dtype) -> Tensor:
        seen.extend([a, type(a).__name__, list(b), list(c), d, str(e).removeprefix("torch.")])
        return x.clone()

    side.op(f)(side.tensor(1), 3, (1, 2), [1, 2.5], True, side.lib.float64)
    return seen


@program
def several_results(side: Side) -> Any:
    def f(x: Tensor, n: int) -> tuple[Tensor, Tensor, int]:
        return x + n, (x > 1), n + 1

    def g(x: Tensor, n: int) -> list[Tensor]:
        return [x * each for each in range(n)]

    def h(x: Tensor) -> None:
        return None

    x = side.tensor(1, 2)
    found = side.op(f)(x, 2)
    return type(found).__name__, found, side.op(g, "g")(x, 3), side.op(h, "h")(x)


@program
def results_of_other_dtypes_and_shapes(side: Side) -> Any:
    def f(x: Tensor, to: dtype) -> Tensor:
        return (x[:, None] * x).to(to)

    op = side.op(f)
    return [
        op(side.tensor(1, 2), getattr(side.lib, name)) for name in ("int64", "float64", "bool", "complex64", "int8")
    ]


@program
def results_that_are_arguments(side: Side) -> Any:
    def f(x: Tensor) -> Tensor:
        return x

    op, x = side.op(f), side.tensor(1)
    return side.error(lambda: op(x))


@program
def lists_of_tensors(side: Side) -> Any:
    def f(xs: Sequence[Tensor], ys: list[Tensor | None], z: Tensor | None = None) -> Tensor:
        return sum(xs) + sum(y for y in ys if y is not None) + (0 if z is None else z)

    op, x, y = side.op(f), side.tensor(1, 2), side.tensor(3, 4)
    return op([x, y], [None, x]), op((x,), [None]), op([x], [y, y], z=x)


@program
def kernels_of_devices(side: Side) -> Any:
    def f(x: Tensor, a: int = 1) -> Tensor:
        return x + a

    op, x = side.op(f), side.tensor(1, 2)
    first = op(x)
    op.register_kernel("cpu", lambda x: x * 10)  # called without what equals its default
    second = op(x)
    with op.set_kernel_enabled("cpu", enabled=False):
        third = op(x, 5)
    op.register_kernel("cpu")(lambda x, a=7: x * a)
    return first, second, third, op(x), op(x, 1), op(x, 2)


@program
def an_operator_for_one_device(side: Side) -> Any:
    def f(x: Tensor) -> Tensor:
        return x + 1

    def g(n: int) -> Tensor:
        return side.lib.ones(n)

    def h(n: int, device: device) -> Tensor:
        return side.lib.ones(n)

    op = side.op(f, device_types="cpu")
    return (
        op(side.tensor(1)),
        bool(side.error(lambda: op(side.lib.ones(2, device="meta")))),
        side.error(lambda: side.op(g, "g", device_types="cpu")),
        side.op(h, "h", device_types="cpu")(2, side.lib.device("cpu")),
        side.op(g, "k")(3),
    )


@program
def fakes(side: Side) -> Any:
    def f(x: Tensor, n: int = 2) -> Tensor:
        return x.repeat(n)

    op, meta = side.op(f), side.lib.ones(3, device="meta")
    missing = bool(side.error(lambda: op(meta)))

    @op.register_fake
    def _(x, n=2):  # type: ignore[no-untyped-def]
        return x.new_empty(x.shape[0] * n)

    found = op(meta, 4)
    return missing, list(found.shape), found.device.type, str(found.dtype).removeprefix("torch."), list(op(meta).shape)


@program
def what_a_function_sees(side: Side) -> Any:
    seen: list[Any] = []

    def f(x: Tensor) -> Tensor:
        y = x * 2
        seen.extend([x.requires_grad, y.requires_grad, x.is_leaf, y.grad_fn is None])
        return y

    result = side.op(f)(side.tensor(1, grad=True))
    return seen, result.requires_grad
