"""Declarations of functions, methods and calls, as type checkers read them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count

from opwright_codegen.schema.model import Return, SchemaKind
from opwright_codegen.targets.ops.tensor_kinds import ANY_KIND, TensorKinds, kinds_of
from opwright_codegen.views.annotations import annotation, return_annotation
from opwright_codegen.views.imports import words_in
from opwright_codegen.views.layout import docstring, filled, hugged, quoted
from opwright_codegen.views.names import BuiltinNames, returns_list
from opwright_codegen.views.operators import OperatorView, Parameter

__all__ = ["Declared", "Typed"]

Declared = tuple[str, ...]  # one way to call something: its declarations, overloads where they are several

# Note [Other names of arguments]: those of the schema, PyTorch's, and NumPy's. Mixed ones are not declared.
_NAMINGS: Sequence[Mapping[str, str]] = (
    {},
    {"self": "input"},
    {"self": "a", "input": "a", "dim": "axis", "keepdim": "keepdims"},
    {"self": "x1", "input": "x1", "other": "x2"},
)


class Typed:
    """The declarations of operators, with what kinds of tensors they take."""

    def __init__(self, builtins: BuiltinNames, module: Callable[[OperatorView], str] = lambda view: "") -> None:
        self._builtins = builtins
        self._module = module
        self._parameters: dict[tuple[int, str], tuple[Parameter, str]] = {}
        self._returns: dict[tuple[tuple[Return, ...], str], str] = {}
        self.has_results = False

    def words(self) -> set[str]:
        """Return the names that the declarations use."""
        types = [text.partition(": ")[2].partition(' = "')[0] for _, text in self._parameters.values()]
        return words_in(types) | words_in(self._returns.values())

    def operator(self, view: OperatorView) -> Declared:
        """Return how an operator is called."""
        mark = _mark(view)
        calls = [_call(self._parameters_of(view, kinds), self._tail(view, kinds)) for kinds in kinds_of(view)]
        return tuple([f"{mark}{call}" for call in calls])

    def function(self, view: OperatorView) -> Declared:
        """Return how a function is called, once for each naming that changes something; out variants, and calls with
        tensors and arrays, have the schema's names."""
        first, *others = kinds_of(view)
        found = []
        for naming in _NAMINGS:
            # Names of dimensions and of second operands are what makes NumPy's names worth a declaration.
            wanted = naming.keys() - {"self", "input"}
            if _is_taken(naming, view):
                continue
            if not wanted or not wanted.isdisjoint(p.name for p in view.parameters):
                found.append(self._function(view, first, naming))
            if view.schema.kind is SchemaKind.OUT:
                break
        return tuple(dict.fromkeys([*found, *[self._function(view, kinds, {}) for kinds in others]]))

    def _function(self, view: OperatorView, kinds: TensorKinds, naming: Mapping[str, str]) -> str:
        parameters = _renamed(self._one_by_one(view, self._parameters_of(view, kinds), kinds), naming)
        return _mark(view) + _call(parameters, self._tail(view, kinds, lists=False))

    def _tail(self, view: OperatorView, kinds: TensorKinds, lists: bool = True) -> str:
        if not lists and returns_list(view.schema):
            return f") -> {self._builtins['tuple']}[{kinds.returned}, ...]:"
        return f") -> {'Any' if view.schema.is_varret else self._returned_by(view, kinds.returned)}:"

    def method(self, base: str, group: Sequence[OperatorView]) -> list[str]:
        """Return the overloads of a method, `self` first. A text stands in the first overload that it holds for."""
        found: dict[str, str] = {}  # by their heads: the docstring stands behind the first
        told = {""}
        for view in group:
            if "method" not in view.operator.variants or view.schema.kind is SchemaKind.OUT:
                continue
            kinds = TensorKinds((ANY_KIND,) * len(view.parameters), "Tensor")
            tail = self._tail(view, kinds, lists=False)
            shown = self._list(view.parameters, kinds)
            at = next(i for i, p in enumerate(view.parameters) if p.argument.name == "self")
            del shown[at]
            parameters = self._one_by_one(view, shown, kinds)
            for naming in (each for each in _NAMINGS if not _is_taken(each, view)):
                declared = partial(hugged, f"def {base}(", ["self", *_renamed(parameters, naming)], tail, 4)
                if (head := declared(4)) in found:
                    continue
                doc = view.operator.doc
                text = f"{head} ..." if doc in told else f"{declared(0)}\n        {docstring(doc, 8)}"
                found[head] = f"{_mark(view)}{text}"
                told.add(doc)
        return list(found.values())

    def _parameters_of(self, view: OperatorView, kinds: TensorKinds) -> list[str]:
        parameters = self._list(view.parameters, kinds)
        if view.schema.is_vararg:
            at = parameters.index("*") if "*" in parameters else len(parameters)
            parameters[at : at + 1] = ["*args: Any"]
        return parameters

    def _one_by_one(self, view: OperatorView, parameters: Sequence[str], kinds: TensorKinds) -> list[str]:
        """Return parameters with those of a list of ints that may come one by one."""
        found = list(parameters)
        if view.ints is not None:
            text = self._parameter(view.parameters[view.ints], kinds.parameters[view.ints])
            int_ = self._builtins["int"]
            found = [each for each in found if each != "*"]
            at = found.index(text)
            found[at : at + 1] = [f"{text} | {int_}", f"*more: {int_}"]
        if _makes_leaves(view):
            found.append(f"requires_grad: {self._builtins['bool']} = False")
        return found

    def _list(self, parameters: Sequence[Parameter], kinds: TensorKinds) -> list[str]:
        """Return the declarations of parameters. The one that is given, where others leave it out, is a keyword if
        others before it have defaults."""
        found = [self._parameter(*each) for each in zip(parameters, kinds.parameters, strict=True)]
        keywords = [i for i, p in enumerate(parameters) if p.argument.kwarg_only]
        given = kinds.given
        if given is not None:
            found[given] = found[given].removesuffix(f" = {parameters[given].default}").removesuffix(" | None")
            keywords += [given] if any(p.default is not None for p in parameters[:given]) else []
        if keywords:
            found.insert(min(keywords), "*")
        return found

    def _parameter(self, parameter: Parameter, tensor: str) -> str:
        known = self._parameters.get((id(parameter), tensor))
        if known is None:
            text = f"{parameter.name}: {annotation(parameter.argument.type, self._builtins, tensor=tensor)}"
            if parameter.default is not None:
                text = f"{text} = {parameter.default}"
            known = self._parameters[id(parameter), tensor] = parameter, text
        return known[1]

    def _returned_by(self, view: OperatorView, tensor: str) -> str:
        if view.result is None:
            return self._return(view.schema.returns, tensor)
        self.has_results = True
        has_tensors = any(r.type.is_tensor_like for r in view.schema.returns)
        name = f"{self._module(view)}{view.result}"
        return f"{name}[{tensor}]" if has_tensors else name

    def _return(self, returns: tuple[Return, ...], tensor: str) -> str:
        known = self._returns.get((returns, tensor))
        if known is None:
            known = self._returns[returns, tensor] = return_annotation(returns, self._builtins, tensor=tensor)
        return known


def _call(parameters: Sequence[str], tail: str) -> str:
    """Return a declaration of the `__call__` of a class."""
    named = {re.split(r"[:= ]", parameter, maxsplit=1)[0] for parameter in parameters}
    own = next(name for name in map("_".__mul__, count(1)) if name not in named)
    return filled("def __call__(", [own, *parameters], f"{tail} ...", 4)


def _mark(view: OperatorView) -> str:
    """Return the decorator of what is deprecated (PEP 702), in a line of its own: editors strike its calls."""
    deprecated = view.operator.deprecated
    if deprecated is None:
        return ""
    said = " ".join(f"{view.name} is deprecated: {deprecated}".rstrip(": ").replace('"', "'").split())
    lines = [quoted(line) for line in textwrap.wrap(said, 96, drop_whitespace=False)]
    shown = lines[0] if len(lines) == 1 else "".join(f"\n        {line}" for line in lines) + "\n    "
    return f"@deprecated({shown})\n    "


def _makes_leaves(view: OperatorView) -> bool:
    """Whether the function makes a new tensor, which may require grad (`opwright.creation.factories`)."""
    names = [p.name for p in view.parameters]
    is_factory = view.operator.namespace == "aten" and "pin_memory" in names and view.schema.kind is not SchemaKind.OUT
    return is_factory and not view.schema.name.base.startswith(("_", "to"))


def _is_taken(naming: Mapping[str, str], view: OperatorView) -> bool:
    """Whether two parameters would have one name."""
    names = [naming.get(parameter.name, parameter.name) for parameter in view.parameters]
    return len(set(names)) < len(names)


def _renamed(parameters: Sequence[str], naming: Mapping[str, str]) -> list[str]:
    """Return declarations of parameters by other names."""
    found = []
    for text in parameters:
        name, colon, rest = text.partition(":")
        found.append(f"{naming.get(name, name)}{colon}{rest}")
    return found
