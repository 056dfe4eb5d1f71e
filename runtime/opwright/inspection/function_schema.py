"""The schema of an operator, `op._schema`, under the names of PyTorch's FunctionSchema."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from opwright.inspection.schema import incompatibilities

if TYPE_CHECKING:
    from opwright.inspection.schema import ParsedArgument, ParsedReturn, ParsedSchema, ParsedType

__all__ = ["AliasInfo", "SchemaArgument", "SchemaView"]

# Types that PyTorch's `type` shows by how they are represented; `real_type` shows them as they are written.
_REPRESENTED: Final = {
    "SymInt": "int", "SymFloat": "float", "SymBool": "bool", "Scalar": "number", "ScalarType": "int", "Layout": "int",
    "MemoryFormat": "int",
}  # fmt: skip
_REAL: Final = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool", "Scalar": "number"}


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """The alias sets that an argument or result is in, and whether the operator writes to it. Those of a list's
    elements are not shown."""

    is_write: bool
    before_set: frozenset[str]
    after_set: frozenset[str]


@dataclass(frozen=True, slots=True)
class SchemaArgument:
    """An argument or a result. `type` and `real_type` are texts, `Optional[int]`; `N` is the length of `int[2]`."""

    name: str
    type: str
    real_type: str
    N: int | None
    default_value: Any
    kwarg_only: bool
    is_out: bool
    alias_info: AliasInfo | None
    _has_default: bool = field(repr=False, default=False)

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Whether calls may leave it out."""
        return self._has_default


class SchemaView:
    """An operator's schema: `name` without the overload, `arguments`, `returns`, and what they say of the operator.

    `str()` is its text. Two of one text are equal.
    """

    def __init__(self, parsed: ParsedSchema, defaults: tuple[Any, ...]) -> None:
        self._parsed = parsed
        self._defaults = defaults

    @property
    def name(self) -> str:
        """Return `aten::add`, of `aten::add.Tensor`."""
        name = self._parsed.name
        return f"{name.namespace}::{name.base}"

    @property
    def overload_name(self) -> str:
        """Return `Tensor`, of `aten::add.Tensor`; empty where there is none."""
        return self._parsed.name.overload

    @cached_property
    def arguments(self) -> list[SchemaArgument]:
        """Return the arguments, keyword-only ones last."""
        return [
            _argument(argument, default)
            for argument, default in zip(self._parsed.arguments, self._defaults, strict=True)
        ]

    @cached_property
    def returns(self) -> list[SchemaArgument]:
        """Return the results; `name` is empty for those without."""
        return [_return(result) for result in self._parsed.returns]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any(argument.is_write for argument in self._parsed.arguments)

    @property
    def is_vararg(self) -> bool:
        """Whether it takes any number of arguments (`...`)."""
        return self._parsed.is_vararg

    @property
    def is_varret(self) -> bool:
        """Whether it returns any number of results (`...`)."""
        return self._parsed.is_varret

    def _is_view_op(self) -> bool:
        """Whether an argument's memory is returned and none is written to."""
        infos = [argument.alias_info for argument in self.arguments if argument.alias_info is not None]
        return bool(infos) and not any(info.is_write for info in infos)

    def is_backward_compatible_with(self, old: SchemaView) -> bool:
        """Whether calls written for an older schema mean the same under this one."""
        return not incompatibilities(self._parsed, old._parsed)

    def __str__(self) -> str:
        return str(self._parsed)

    def __repr__(self) -> str:
        return str(self._parsed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaView) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _argument(argument: ParsedArgument, default: Any) -> SchemaArgument:
    has_default = argument.default is not None
    size = argument.type.list_type.size if argument.type.list_type is not None else None
    return SchemaArgument(
        argument.name,
        _shown(argument.type, _REPRESENTED),
        _shown(argument.type, _REAL),
        size,
        default if has_default else None,
        argument.kwarg_only,
        argument.kwarg_only and argument.is_write,
        _alias_info(argument),
        has_default,
    )


def _return(result: ParsedReturn) -> SchemaArgument:
    type = _shown(result.type, _REPRESENTED), _shown(result.type, _REAL)
    return SchemaArgument(result.name or "", *type, None, None, False, False, _alias_info(result))


def _alias_info(declared: ParsedArgument | ParsedReturn) -> AliasInfo | None:
    if not declared.annotations:
        return None
    own = declared.annotation
    if declared.type.list_type is not None:
        own = declared.list_annotations[-1] if declared.list_annotations else None
    before = () if own is None else own.before
    after = () if own is None or own.is_fresh else own.after or own.before
    return AliasInfo(declared.is_write, frozenset(before), frozenset(after))


def _shown(type: ParsedType, names: dict[str, str]) -> str:
    """Return the type as PyTorch writes it: `Optional[List[int]]`."""
    element = getattr(type, "elem", None)
    if element is None:
        text = str(type)
        return names.get(text, text)
    return f"{'Optional' if type.is_optional else 'List'}[{_shown(element, names)}]"
