"""General shims of operators that are planned again and again: Note [Known plans].

Note [Known plans]
What a rule of the runtime finds out depends on shapes, strides and dtypes of arrays and on other arguments that its
formula names. A shim keeps it by these, and asks the rule where it has not met them. The kernel's answer is wrapped as
it is if it looks as planned. Rules by path, of users, are asked each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright_codegen.bindings.bind import Inline
from opwright_codegen.bindings.metas import Plans
from opwright_codegen.formula.ast import Attribute, Call, Conditional, Formula, Kind, Reference, Verbatim
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels.known_facts import KnownFacts, key_kind, key_parts, passed_kind, view_kinds
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.layout import LINE, bracketed, formula_lines, hugged, quoted, returned

if TYPE_CHECKING:
    from opwright_codegen.targets.kernels.shims import ShimBuilder

__all__ = ["known_forms", "known_statements"]


def known_statements(shim: ShimBuilder, meta: Plans, facts: KnownFacts) -> list[str]:
    """Return the body of a shim that keeps its plans."""
    return _KnownShim(shim, meta, facts).statements()


def known_forms(shim: ShimBuilder) -> str:
    """Return the line that makes what keeps the plans, or says of a view that it lies where others of its key lie;
    nothing where there is neither. Where the kernel is a function of arrays by itself, it says what
    the key has of each argument, and which arguments the function gets, for the compiled core."""
    facts = shim.names.known
    if facts is None:
        kinds = view_kinds(shim.binding, shim.binding.key) if shim.names.forms else ""
        if not kinds:
            return ""
        listed = ", is_list=True" if shim.schema.returns[0].type.is_list_like else ""
        return f"{shim.names.forms} = KnownViews({quoted(kinds)}{listed})"
    is_functional = shim.schema.kind is SchemaKind.FUNCTIONAL
    called = _array_kernel(shim) if is_functional else _writing_kernel(shim)
    if called is None:
        return f"{shim.names.forms} = KnownForms()"
    function, places = called
    written = [] if is_functional else [f"writes={_written(shim)}"]
    kinds = "".join(key_kind(a) if a.name in facts.planned else passed_kind(a) for a in shim.schema.arguments)
    given = [quoted(kinds), function, _listed(places), *_operands(shim, facts.planned), *written]
    return _formula_kernel(shim) + hugged(f"{shim.names.forms} = KnownForms(", given, ")")


def _formula_kernel(shim: ShimBuilder) -> str:
    """Return the function on arrays of a kernel that is a formula, where it has one."""
    if not _is_formula(shim) or shim.schema.kind is not SchemaKind.FUNCTIONAL:
        return ""
    names = [a.name for a in shim.schema.arguments if a.name in shim.mentioned()]
    given = ", ".join(f"{shim.own[name]}: Any" for name in names)
    line = formula_lines(shim.kernel_call(), shim.spelling(shim.own), 4, "return ")
    return f"def {_formula_name(shim)}({given}) -> Any:\n    {line}\n\n\n"


def _formula_name(shim: ShimBuilder) -> str:
    return f"{shim.names.general}_of_arrays"


def _is_formula(shim: ShimBuilder) -> bool:
    """Whether the kernel of a functional operator is a function's call of more than arguments, or a choice of such."""
    kernel = shim.binding.kernel
    is_call = type(kernel) is Inline and isinstance(kernel.formula, Call | Conditional)  # (none that has loops in C)
    return is_call and _plain_kernel(shim) is None and len(shim.schema.returns) == 1


def _operands(shim: ShimBuilder, planned: frozenset[str]) -> list[str]:
    """Return the places of the plan's operands, where these are not the tensors that it depends on, in their order."""
    meta, arguments = shim.binding.meta, shim.schema.arguments
    if not isinstance(meta, Plans) or meta.is_list:
        return []
    places = {argument.name: place for place, argument in enumerate(arguments)}
    found = [places[name] for name in meta.operands if name is not None]
    is_one = {place: tensors_in(a.type) in (Tensors.ONE, Tensors.OPTIONAL) for place, a in enumerate(arguments)}
    tensors = [place for place, a in enumerate(arguments) if is_one[place] and a.name in planned]
    return [_listed(found)] if found not in ([], tensors) else []


def _listed(places: list[int]) -> str:
    return f"({', '.join(map(str, places))}{',' if len(places) == 1 else ''})"


def _array_kernel(shim: ShimBuilder) -> tuple[str, list[int]] | None:
    """Return the kernel as a function of arguments, and their places; -1 is NumPy itself."""
    if not _is_formula(shim):
        return _plain_kernel(shim)
    mentioned = shim.mentioned()
    return _formula_name(shim), [place for place, a in enumerate(shim.schema.arguments) if a.name in mentioned]


def _writing_kernel(shim: ShimBuilder) -> tuple[str, list[int]] | None:
    """Return the kernel of a variant that writes where it is a function of ours that takes `out`, and the places of its
    other arguments."""
    places = {a.name: place for place, a in enumerate(shim.schema.arguments)}
    match shim.kernel_call("out"):
        case Call(Verbatim(function), arguments, (("out", _),)) if shim.indent == 4:
            return function, [places[a.name] if isinstance(a, Reference) else -1 for a in arguments]
    return None


def _written(shim: ShimBuilder) -> int:
    """Return the place of the tensor that is written."""
    return next(place for place, argument in enumerate(shim.schema.arguments) if argument.is_write)


def _plain_kernel(shim: ShimBuilder) -> tuple[str, list[int]] | None:
    """Return the kernel where it is one function already."""
    places = {a.name: place for place, a in enumerate(shim.schema.arguments)}
    match shim.kernel_call():
        case Call(Verbatim(function), arguments, ()) if shim.indent == 4:
            return function, [places[a.name] if isinstance(a, Reference) else -1 for a in arguments]
        case Call(Attribute(Reference(Kind.MODULE), name), arguments, ()):
            given = [a.name for a in arguments if isinstance(a, Reference) and a.kind is Kind.ARGUMENT]
            return (f"np.{name}", [places[each] for each in given]) if len(given) == len(arguments) else None
        case Call(Attribute(Reference(Kind.ARGUMENT, owner), name), (), ()):
            return f"np.ndarray.{name}", [places[owner]]
        case Reference(Kind.ARGUMENT, owner):  # a copy in the order of the memory
            return "np.ndarray.__copy__", [places[owner]]
    return None


def _choice(part: str, indent: int) -> str:
    """Return a part of a key on one line if it fits, else what it is where an array is None, and where it is not, each
    on its own line."""
    if len(part) + indent < LINE:
        return part
    pad = f"\n{' ' * indent}"
    return part.replace(" if ", f"{pad}if ", 1).replace(" else ", f"{pad}else ", 1)


class _KnownShim:
    """The builder of one body."""

    def __init__(self, shim: ShimBuilder, meta: Plans, facts: KnownFacts) -> None:
        self._shim = shim
        self._facts = facts
        self._meta = meta
        self._forms = shim.names.forms
        self._outputs = len(shim.schema.returns)
        self._key, self._form = shim.claim("key"), shim.claim("form")
        self._spelled = {
            a.name: shim.arrays[a.name] if a.type.is_tensor_like else shim.own[a.name] for a in shim.schema.arguments
        }
        self._used = facts.planned | shim.mentioned()

    def statements(self) -> list[str]:
        """Return the statements, as they are laid out at the shim's indent."""
        body = [*self._arrays(), *self._sought()]
        if self._shim.schema.kind is SchemaKind.FUNCTIONAL:
            return [*body, *self._learned(), *self._cast(), *self._results()]
        return [*body, *self._planned()]

    def _arrays(self) -> list[str]:
        """Return what takes the arrays of tensors."""
        shim = self._shim
        ones = [a.name for a in shim.schema.arguments if tensors_in(a.type) is Tensors.ONE and a.name in self._used]
        return [*(f"{shim.arrays[name]} = {shim.own[name]}.array" for name in ones), *shim.unwrapped()]

    def _sought(self) -> list[str]:
        """Return what looks for the forms of results."""
        shim = self._shim
        planned = [a for a in shim.schema.arguments if a.name in self._facts.planned]
        parts = [p for a in planned for p in key_parts(a, shim.own[a.name], self._spelled[a.name], shim.builtins)]
        parts = [_choice(part, shim.indent + 4) for part in parts] if len(parts) > 1 else parts
        key = parts[0] if len(parts) == 1 else bracketed("(", parts, ")", shim.indent, len(self._key) + 3)
        return [f"{self._key} = {key}", f"{self._form} = {self._forms}.get({self._key})", f"if {self._form} is None:"]

    def _learned(self) -> list[str]:
        """Return what plans where there were none."""
        shim, meta = self._shim, self._meta
        indent, spelling = shim.indent + 4, shim.spelling(self._spelled)
        formulas = shim.meta_formulas(meta)
        head = f"{self._form} = "
        if self._outputs == 1:
            call = Call(Verbatim(f"{self._forms}.learn"), (Verbatim(self._key), formulas[0], *self._operands()))
            return [f"    {formula_lines(call, spelling, indent, head)}"]
        names = [f"plan{place}" for place in range(self._outputs)]
        targets = names if len(formulas) == len(names) else [", ".join(names)]
        plans = [formula_lines(f, spelling, indent, f"{t} = ") for t, f in zip(targets, formulas, strict=True)]
        given = [self._key, f"({', '.join(names)})", *(each.text for each in self._operands())]
        learned = bracketed(f"{head}{self._forms}.learn(", given, ")", indent)
        return [*(f"    {line}" for line in plans), f"    {learned}"]

    def _operands(self) -> list[Verbatim]:
        """Return the operands of the plan, as they are passed on."""
        names = [self._spelled[name] for name in self._meta.operands if name is not None]
        return [Verbatim(f"*{names[0]}")] if self._meta.is_list else [Verbatim(name) for name in names]

    def _given(self) -> str:
        """Return the operands of the plan as one value."""
        names = [self._spelled[name] for name in self._meta.operands if name is not None]
        return names[0] if self._meta.is_list else f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    def _cast(self) -> list[str]:
        """Return what casts operands where they need it."""
        if not self._meta.operands:
            return []
        first = self._form if self._outputs == 1 else f"{self._form}[0]"
        given = self._given()
        target = given[1:-1] if given.startswith("(") and not given.endswith(",)") else given
        cast = hugged(f"{target} = cast_operands(", [first, given], ")", self._shim.indent + 4)
        return [f"if {first}.casts:", f"    {cast}"]

    def _results(self) -> list[str]:
        """Return what calls the kernel and wraps its answer."""
        shim, form = self._shim, self._form
        given = self._arrays_given()
        spelling = shim.spelling(self._spelled)
        if self._outputs == 1:
            call = Call(Verbatim("known_result"), (Verbatim(form), self._kernel_call(), *map(Verbatim, given)))
            return [formula_lines(call, spelling, shim.indent, "return ")]
        results = [f"result{place}" for place in range(self._outputs)]
        wrapped = [
            f"known_result({', '.join([f'{form}[{place}]', result, *given])})" for place, result in enumerate(results)
        ]
        return [*shim.results(results, self._spelled), returned(wrapped, shim.indent)]

    def _kernel_call(self) -> Formula:
        """Return the call of the kernel."""
        shim = self._shim
        match shim.kernel_call():
            case Reference(Kind.ARGUMENT, owner):  # a copy: at once as it is planned, if that is row-major
                array = self._spelled[owner]
                return Verbatim(f"{array} if {self._form}.odd else {array}.copy()")
        if not _is_formula(shim):
            return shim.kernel_call()
        mentioned = shim.mentioned()
        given = [Verbatim(self._spelled[a.name]) for a in shim.schema.arguments if a.name in mentioned]
        return Call(Verbatim(_formula_name(shim)), tuple(given))

    def _arrays_given(self) -> list[str]:
        """Return all arrays that the kernel is given, none of which may be its answer."""
        held = {a.name: tensors_in(a.type) for a in self._shim.schema.arguments if a.name in self._used}
        return [
            f"*{self._spelled[name]}" if each is Tensors.LIST else self._spelled[name]
            for name, each in held.items()
            if each is not Tensors.NONE
        ]

    def _planned(self) -> list[str]:
        """Return what plans anew or by the form, and writes the kernel's answer."""
        shim, meta = self._shim, self._meta
        (formula,) = shim.meta_formulas(meta)
        operands = [each.text for each in self._operands()]
        planned = formula_lines(formula, shim.spelling(self._spelled), shim.indent + 4, "plan = ")
        learned = hugged(f"{self._forms}.learn_plan(", [self._key, "plan", *operands], ")", shim.indent + 4)
        made = f"plan = Plan({self._form}, {self._given()})"
        return [
            f"    {planned}",
            f"    {learned}",
            "else:",
            f"    {made}",
            *shim.computed(["plan"], self._spelled),
        ]
