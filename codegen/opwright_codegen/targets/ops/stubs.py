"""Target `ops.py`: the declaration of each operator, the function that calls it, and one for all overloads of a name.

Note [Stubs]
A stub converts what exact type tests say needs converting, has the runtime find the kernel for the keys of its tensors
(`dispatch.call.lookup`) and calls that. Where its arguments have a shape that the runtime has closures for, it is a
row (`rows`): else it is written out. The one overload of a name, out variants aside, has no stub but the
function of the name. Out variants have none: the runtime binds their arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from opwright_codegen.declared.parts import IMPLIED_TAGS, Operator
from opwright_codegen.documents.generated import with_out
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.ops.lookup import Lookup, Lookups
from opwright_codegen.targets.ops.named import Named, named_view, taken_by_name
from opwright_codegen.targets.ops.packets import Packet, by_use, packet_view
from opwright_codegen.targets.ops.rows import is_row, row
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import LINE, fill, fill_string, hugged, quoted
from opwright_codegen.views.operators import NamespaceView, OperatorView, is_public, plain_parameters

__all__ = ["FOLDER", "INDEX", "TEMPLATE", "Group", "Stub", "context", "index_context"]

FOLDER = "ops"
TEMPLATE = "ops.py.j2"
INDEX = "ops_index.py.j2"
# What the texts of stubs and packets may use.
_USED = frozenset(
    (
        "Device", "Generator", "INTS", "Layout", "MemoryFormat", "NOT_GIVEN", "Overloaded", "Tensor", "as_tuple",
        "builtins", "find0", "find1", "find2", "find3", "find_items", "find_list", "find_some", "function_of",
        "is_dtype", "is_int_list", "ndarray", "result_class", "stub_of",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stub:
    """The function that calls one operator. Without a lookup the statement `call` has the runtime bind the arguments,
    after those in `renamed` got the schema's names."""

    decorator: str
    signature: str
    named: Named | None
    lookup: Lookup | None
    renamed: tuple[tuple[str, str], ...] = ()
    call: str = ""

    def texts(self) -> tuple[str, ...]:
        """Return what it says, for finding the names that it uses; but for the tests of `Lookups`."""
        named = () if self.named is None else (self.named.call,)
        return (self.decorator, self.signature, *named)


@dataclass(frozen=True, slots=True)
class Group:
    """The operators of one name: the statements that declare them and make stubs of shapes that the runtime has, the
    stubs that are written out, and the function for all, if that is another."""

    statements: tuple[str, ...]
    stubs: tuple[Stub, ...]
    packet: Packet | None


def context(view: NamespaceView) -> dict[str, object]:
    """Return what the template of a schema module shows."""
    lookups = Lookups(view.builtins)
    shared = IMPLIED_TAGS.intersection(*[each.operator.tags for each in view.operators.values()])
    groups = [_group(base, operators, view, lookups, shared) for base, operators in view.packets.items()]
    tags = [f"tags={quoted(' '.join(sorted(shared)))}"] if shared else []
    return {
        "groups": groups,
        "declarations": hugged("declare = Declarations(", [quoted(view.namespace), *tags, "module=__name__"], ")"),
        "imports": _imports(view, groups, lookups),
    }


def _imports(view: NamespaceView, groups: Sequence[Group], lookups: Lookups) -> str:
    """Return what the module imports: no name that it does not use."""
    texts = [*lookups.texts()]
    for group in groups:
        texts += [text for stub in group.stubs for text in stub.texts()]
        texts += () if group.packet is None else group.packet.texts()
    words = words_in(texts) & _USED
    if any(operator.result is not None for operator in view.operators.values()):
        words.add("result_class")
    return import_lines(words | {"Declarations"}, ["builtins"] if "builtins" in words else [])


def _group(
    base: str, operators: Sequence[OperatorView], view: NamespaceView, lookups: Lookups, shared: frozenset[str]
) -> Group:
    names = view.names.packets[base]
    outs = _outs(operators)
    beside = {out.name for out in outs.values()}
    declared = [o for o in operators if o.name not in beside]
    alone = names.packet if len(declared) == 1 else None
    statements = [_declaration(o, outs.get(o.name), shared, alone) for o in declared]
    if names.packet is not None and alone is None:
        statements.append(hugged(f"{names.packet} = declare.overloaded(", [by_use(operators)[0].private], ")"))
    statements += [
        hugged(f"{o.result} = result_class(", [o.private, quoted(o.result), "__name__"], ")")
        for o in operators
        if o.result is not None
    ]
    stubs = []
    for operator in operators:
        if operator.is_merged or operator.operator.kind is not SchemaKind.OUT:
            if is_row(operator):
                statements.append(row(operator, names.packet))
            else:
                stubs.append(_stub(operator, names.packet, view, lookups))
    is_served = any(operator.is_merged for operator in operators)
    return Group(
        tuple(statements), tuple(stubs), None if is_served else packet_view(base, tuple(operators), view, lookups)
    )


def _outs(group: Sequence[OperatorView]) -> dict[str, OperatorView]:
    """Return the out variants that are declared with their operators, by the names of these: those that take one
    argument more, `out`, and return it."""
    found: dict[str, OperatorView] = {}
    outs = [each for each in group if each.operator.kind is SchemaKind.OUT and not each.is_merged]
    for out in outs:
        for view in group:
            is_its = with_out(view.declaration, out.schema.name.overload) == out.declaration
            if is_its and view.name not in found and view.declaration.endswith("-> Tensor"):
                found[view.name] = out
                break
    return found


def _declaration(view: OperatorView, out: OperatorView | None, shared: frozenset[str], alone: str | None) -> str:
    """Return the statement that makes the Operator, and its out variant; without the tags that all `shared`. For the
    one operator of a name it makes the Overloaded as well, which is called `alone`."""
    operator = view.operator
    tags = " ".join(sorted(_tags(operator) - shared))
    arguments = [fill_string(view.declaration, 4)]
    if tags:
        arguments.append(quoted(tags))
    if out is not None:
        arguments.append(f"out={quoted(out.schema.name.overload)}")
        if _tags(out.operator) != (_tags(operator) - {"core"}) | {"out"}:
            arguments.append(f"out_tags={quoted(' '.join(sorted(_tags(out.operator) - shared)))}")
    if operator.dtypes and operator.expression is None:
        arguments.append(_filled("dtypes", _dtypes(operator)))
    head = f"{view.private} = declare(" if alone is None else f"{alone}, {view.private} = declare.alone("
    return hugged(head, arguments, ")")


def _tags(operator: Operator) -> frozenset[str]:
    """Return the tags that the runtime is told: `deprecated`, which is a key of entries, is one of them."""
    return operator.tags | {"deprecated"} if operator.deprecated is not None else operator.tags


def _filled(name: str, text: str) -> str:
    return f"{name}={fill_string(text, 8)}".replace("\n        ", "\n    ")


def _dtypes(operator: Operator) -> str:
    """Return the dtypes of an operator's C or CUDA kernel, and of arguments that are always of one."""
    results = {result.name for result in operator.schema.returns}
    always = [f"{text.text}: {dtype}" for text, dtype in operator.dtype_of if text.text not in results]
    return "; ".join([" ".join(operator.dtypes or ()), *always])


def _stub(view: OperatorView, packet: str | None, package: NamespaceView, lookups: Lookups) -> Stub:
    named = None
    decorator = f"@stub_of({view.private})"
    if view.is_merged:
        decorator = hugged("@function_of(", [packet or f"Overloaded({view.private})", view.private], ")")
    if view.is_generic:
        call = f"{view.private}.call_by_name(args, kwargs)" if view.is_merged else f"{view.private}(*args, **kwargs)"
        renamed = tuple((p.name, p.argument.name) for p in view.parameters if p.is_renamed)
        head = f"def {view.function}(*args, **kwargs):"
        return Stub(decorator, head, None, None, renamed, f"return {call}")
    if view.is_merged:
        keyword = next((i for i, p in enumerate(view.parameters) if p.argument.kwarg_only), None)
        parameters = taken_by_name(view.parameters, keyword, view.ints)
        named = named_view(packet or view.private, view.parameters, view.ints)
    else:
        parameters = plain_parameters(view.parameters, view.ints)
    return Stub(decorator, hugged(f"def {view.function}(", parameters, "):"), named, lookups.of(view))


# -- the package of schema modules


def index_context(view: NamespaceView) -> dict[str, object]:
    """Return what the template of `ops/__init__.py` shows: the schema module of each function that users call."""
    names: dict[str, list[str]] = {}
    for base, group in view.packets.items():
        function = view.names.packets[base].function
        if is_public(function, group):
            names.setdefault(view.homes[group[0].name], []).append(function)
    return {
        "functions": [_names(module, found) for module, found in names.items()],
        "modules": list(view.schema_modules),
        "imports": import_lines({"functions_of"}),
    }


def _names(module: str, names: Sequence[str]) -> str:
    """Return the item of a schema module's functions. What is too long for a line has a line for the names whose first
    two words begin alike: a name that is added changes that line alone."""
    ordered = sorted(names, key=lambda name: (_initials(name), name))
    whole = quoted(" ".join(ordered))
    if len(item := f"{quoted(module)}: {whole},") + 4 <= LINE:
        return item
    lines = [whole]
    if len(whole) + 8 > LINE:
        *first, last = [line for _, found in groupby(ordered, _initials) for line in fill(" ".join(found), LINE - 11)]
        lines = [*(quoted(f"{line.rstrip()} ") for line in first), quoted(last)]
    return "\n        ".join((f"{quoted(module)}: (", *lines)) + "\n    ),"


def _initials(name: str) -> str:
    return "".join([word[0] for word in name.strip("_").split("_", 2)[:2] if word])
