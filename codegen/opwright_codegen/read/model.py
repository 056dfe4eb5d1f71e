"""Declarations of schema files, as frozen data: operators, the groups their variants form, and the set of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from opwright_codegen.errors import SchemaError
from opwright_codegen.expressions.expression import Expression
from opwright_codegen.formula.ast import Formula
from opwright_codegen.read.dims import Dims
from opwright_codegen.records import dataclass, field
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.schema.names import PYTORCHS
from opwright_codegen.source import Source, Span, Text

# They change metadata in place, but have functional variants that are no views.
RESIZING = frozenset(("aten::resize_", "aten::resize_as_"))


@dataclass(frozen=True, slots=True)
class Kernel(Text):
    """The right side of a `dispatch` line: a name, a path, or an inline expression."""


@dataclass(frozen=True, slots=True)
class Precomputed:
    """The values that the meta function of a structured kernel computes for its implementation.

    `replace` maps an argument to those that take its position; `add` holds those that come besides.
    """

    replace: tuple[tuple[str, tuple[Argument, ...]], ...] = ()
    add: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class UfuncLoop:
    """A line of `ufunc_inner_loop`: under `key`, the function `name` handles `dtypes`."""

    key: str
    name: str
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch of CUDA kernels: threads of a block, elements that a thread handles, options of the compiler.

    `shared` is the bytes of shared memory of a block, as a sum of products of numbers and of the words `threads` and
    `itemsize`; `shared_limit` how many bytes the kernel may ask the device for. `grid`: blocks for all `elements`, or
    one for each of the `rows`, of the first array or of that named `rows_of`. `ndim`: how many dimensions the first
    array has, where a kernel handles no others; `dims` says so of arrays by name. `constants` of Triton's kernels are
    numbers, `elements`, or `row`: the power of two in which a row has room, of the array whose rows the grid has.
    """

    threads: int = 256
    elements: int = 1
    shared: tuple[tuple[str, ...], ...] = ()
    shared_limit: int = 0
    grid: str = "elements"
    rows_of: str = ""
    ndim: int | None = None
    dims: tuple[tuple[str, int], ...] = ()
    options: tuple[str, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()

    def shared_bytes(self, itemsize: int) -> int:
        """Return the bytes of shared memory of a block, for elements of so many bytes."""
        known = {"threads": self.threads, "itemsize": itemsize}
        return sum(prod(known[word] if word in known else int(word) for word in term) for term in self.shared)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The words of `deprecated`: since which release, what to use instead, and more about it."""

    since: str = ""
    use: str = ""
    message: str = ""

    def __str__(self) -> str:
        parts = (f"since {self.since}" if self.since else "", f"use {self.use}" if self.use else "", self.message)
        return ": ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A line of `upgrade`: how a call of the version before `version` is written as one of it. `old` is the schema of
    the version before; where that is not said, it follows from the call."""

    version: int
    call: Text
    old: Text | None = None


@dataclass(frozen=True, slots=True)
class OldForm:
    """A former version of an operator: its schema, and its call as one of the present version: formulas over its
    arguments, by position and by name. `overload` is the overload that serves its calls, where they can be told from
    those of the present version."""

    version: int
    schema: FunctionSchema
    positional: tuple[Formula, ...]
    keywords: tuple[tuple[str, Formula], ...]
    overload: str = ""


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """One line of `functions`: the function `name` of the Python module `module`.

    `parameters` holds names and defaults, None for parameters without one. Without `parameters` the function is the
    operator's own, or its in-place variant's if `name` ends with `_`.
    """

    module: str
    name: str
    span: Span = field(compare=False, repr=False)
    parameters: tuple[tuple[str, Formula | None], ...] | None = None
    doc: str = ""


class KeySpans(Mapping[str, tuple[Span, Span]]):
    """The positions of the keys of an entry and of their values. Spans are made when asked for: few ever are."""

    __slots__ = ("_offsets", "_source")

    def __init__(self, source: Source, offsets: dict[str, tuple[int, int, int, int]]) -> None:
        self._source = source
        self._offsets = offsets

    def __getitem__(self, key: str) -> tuple[Span, Span]:
        key_start, key_end, start, end = self._offsets[key]
        return Span(self._source, key_start, key_end), Span(self._source, start, end)

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator overload: an entry of a schema file, or a variant made from one.

    `dispatch` has one item a key, in the order of the file; `CompositeImplicitAutograd` is filled in where the entry
    has no `dispatch`. `autocast` has a policy for each device, or one for the device "", which stands for all.
    `convention`, `dtypes` and `dtype_of` say how kernels in C and CUDA are called, and for what; `launch` how CUDA runs
    them. `expression` is what `kernel` says: `dispatch` has its text for CPU and CUDA, and `meta` what follows from it,
    where the entry has nothing else. `reference` names what says the values. `since` is the release that has it first;
    `upgrade` is what the entry says of former versions, `old_forms` what follows, the oldest first.
    `base_name` is the qualified name of the operator whose kernels and `meta` handle this one too, `serves` that of the
    operator whose former calls it takes. `spans` of a made
    operator are those of the entry that it was made from.
    """

    schema: FunctionSchema
    location: Span = field(compare=False, repr=False)
    variants: tuple[str, ...] = ("function",)
    dispatch: tuple[tuple[str, Kernel], ...] = ()
    meta: Text | None = None
    dims: Dims | None = None
    cost: Text | None = None
    doc: str = ""
    reference: Text | None = None
    since: str = ""
    deprecated: Deprecation | None = None
    upgrade: tuple[Upgrade, ...] = ()
    old_forms: tuple[OldForm, ...] = ()
    autocast: tuple[tuple[str, str], ...] = ()
    convention: str | None = None
    dtypes: tuple[str, ...] | None = None
    expression: Expression | None = None
    dtype_of: tuple[tuple[Text, str], ...] = ()
    launch: Launch | None = None
    structured: bool = False
    structured_delegate: str | None = None
    structured_inherits: str | None = None
    precomputed: Precomputed | None = None
    autogen: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    variant_tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ufunc_inner_loop: tuple[UfuncLoop, ...] = ()
    python_module: str | None = None
    functions: tuple[PythonFunction, ...] = ()
    # Without effect outside C++; kept so that PyTorch's file is read without loss.
    device_check: str = "ExactSame"
    device_guard: bool = True
    category_override: str | None = None
    manual_kernel_registration: bool = False
    manual_cpp_binding: bool = False
    cpp_no_default_args: tuple[str, ...] = ()
    use_const_ref_for_mutable_tensors: bool = False

    generated: bool = False
    base_name: str | None = None
    serves: str | None = None
    spans: Mapping[str, tuple[Span, Span]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the qualified name: `aten::add.Tensor`."""
        return str(self.schema.name)

    @property
    def kind(self) -> SchemaKind:
        return self.schema.kind

    @property
    def namespace(self) -> str:
        return self.schema.name.namespace

    @property
    def version(self) -> int:
        """Return the version of its calls: one more for each line of `upgrade`, of its entry or its operator's."""
        return (len(self.upgrade) or len(self.old_forms)) + 1

    @property
    def is_view_like(self) -> bool:
        """Whether a result shares memory with an argument, be it that the argument itself becomes a view."""
        return self.schema.is_view or ("inplace_view" in self.tags and self.name not in RESIZING)

    @property
    def is_composite(self) -> bool:
        """Whether no backend has a kernel of its own: all are handled by one over other operators."""
        return all(key.startswith("Composite") for key, _ in self.dispatch)

    def kernel(self, key: str) -> Kernel | None:
        """Return the kernel declared for `key` itself; alias keys are the dispatcher's business."""
        return next((kernel for name, kernel in self.dispatch if name == key), None)

    def span(self, key: str) -> Span:
        """Return the span of the value of `key`, or of the entry's first line where it has no such key."""
        return self.spans[key][1] if key in self.spans else self.location

    def autogen_span(self, name: str) -> Span:
        """Return the span of the name of a variant in `autogen`."""
        span = self.span("autogen")
        at = span.text.find(name)
        return span.sub(at, at + len(name)) if at >= 0 else span


@dataclass(frozen=True, slots=True)
class OperatorGroup:
    """The variants of one operator: those whose signatures are equal. At least one is there."""

    functional: Operator | None = None
    inplace: Operator | None = None
    out: Operator | None = None
    mutable: Operator | None = None

    @property
    def members(self) -> tuple[Operator, ...]:
        variants = (self.functional, self.inplace, self.out, self.mutable)
        return tuple(operator for operator in variants if operator is not None)

    def renewed(self, operators: Mapping[str, Operator]) -> OperatorGroup:
        """Return the group with its members as `operators` has them now."""
        functional, inplace, out, mutable = (
            None if member is None else operators[member.name]
            for member in (self.functional, self.inplace, self.out, self.mutable)
        )
        return OperatorGroup(functional, inplace, out, mutable)


@dataclass(frozen=True, slots=True)
class OperatorSet:
    """All operators of a run, by qualified name: declared ones in the order of the files, made ones after them."""

    operators: Mapping[str, Operator]
    groups: tuple[OperatorGroup, ...]
    sources: tuple[Source, ...] = field(compare=False, repr=False)
    namespace: str = PYTORCHS  # of operators that are named without one
    advice: tuple[SchemaError, ...] = field(default=(), compare=False, repr=False)  # what ATen would be refused for

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces in the order of their first operator."""
        return tuple(dict.fromkeys(operator.namespace for operator in self.operators.values()))
