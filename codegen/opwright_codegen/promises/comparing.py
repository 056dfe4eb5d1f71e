"""Two states compared: what of the older one no longer holds, in which category, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from opwright_codegen.declared.parts import OldForm
from opwright_codegen.promises.breakages import CODES, Breakage
from opwright_codegen.promises.mending import hint_for
from opwright_codegen.promises.states import Promise, State
from opwright_codegen.records import replace
from opwright_codegen.schema.compat import Difference, differences
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.source import Span

__all__ = ["added", "chosen", "compare", "counted"]


def compare(old: State, new: State) -> list[Breakage]:
    """Return what of `old` no longer holds in `new`, in the order of the older state."""
    found: list[Breakage] = []
    renamed = _renamed(old, new)
    for name, before in old.promises.items():
        after = new.promises.get(name)
        if after is None:
            found.append(_gone(name, before, renamed.get(name), new))
        else:
            found += _of_operator(name, before, after)
    # Variants that were made share their entry, and what is wrong with it. A lock has a line for each.
    every = reversed([*found, *_ahead(old, new)])
    shared = {(each.code, each.message, each.new or each.old, each.categories): each for each in every}
    return list(reversed(shared.values()))


def added(old: State, new: State) -> list[str]:
    """Return the operators that only the newer state has."""
    return [name for name in new.promises if name not in old.promises]


def _renamed(old: State, new: State) -> dict[str, str]:
    """Return what operators that are gone may be called now: one that is new takes and returns the same."""
    gone = [name for name in old.promises if name not in new.promises]
    fresh = {_anonymous(new.promises[name]): name for name in reversed(added(old, new))} if gone else {}
    pairs = ((name, fresh.get(_anonymous(old.promises[name]))) for name in gone)
    return {name: now for name, now in pairs if now is not None and _namespace(now) == _namespace(name)}


def _anonymous(promise: Promise) -> str:
    return str(promise.schema).partition("(")[2]


def _namespace(name: str) -> str:
    return name.partition("::")[0]


def _gone(name: str, before: Promise, now: str | None, new: State) -> Breakage:
    code = "operator-removed" if now is None else "operator-renamed"
    message = "the operator is gone" if now is None else f"the operator is gone: {now} takes the same arguments"
    deprecation = before.operator.deprecated if before.operator is not None else None
    if deprecation is not None:
        message += f"; it was deprecated {deprecation}".rstrip()
    span = new.promises[now].span if now is not None else None
    return Breakage(code, name, message, CODES[code], before.span, span, hint_for(code, name, before, None, now))


def _of_operator(name: str, before: Promise, after: Promise) -> Iterator[Breakage]:
    form = _form_of(before, after)
    for each in differences(after.schema, before.schema):
        yield _classified(name, each, before, after, form)
    if form is not None:
        for each in differences(form.schema, before.schema):
            message = f"'upgrade' has version {form.version} as {form.schema}, and there {each.message}"
            spans = before.span, after.operator.span("upgrade") if after.operator else after.span
            hint = f"say what it was: {{from: '{before.schema}', call: …}}"
            yield Breakage("upgrade-differs", name, message, CODES["upgrade-differs"], *spans, hint)
    if before.operator is not None and after.operator is not None:
        yield from _of_places(name, before, after)


def _form_of(before: Promise, after: Promise) -> OldForm | None:
    """Return what the newer entry says of the older version, where that is a former one."""
    forms = () if after.operator is None else after.operator.old_forms
    return next((form for form in forms if form.version == before.version), None)


def _classified(name: str, difference: Difference, before: Promise, after: Promise, form: OldForm | None) -> Breakage:
    concerned = list(CODES[difference.code])
    moved = next((each for each in before.schema.arguments if each.name == difference.name), None)
    if difference.code == "argument-moved" and moved is not None and moved.kwarg_only:
        concerned.remove("CALL")  # nobody gives it by position
    served = []
    if form is not None and difference.code in _UPGRADED:
        served = ["GRAPH", "CALL"] if form.overload and difference.code in _TOLD else ["GRAPH"]
    spans = _argument_span(before, difference.name), _argument_span(after, difference.instead or difference.name)
    breaks = tuple(each for each in concerned if each not in served)
    hint = hint_for(difference.code, name, before, after, difference.instead) if breaks else None
    made = after.operator if after.operator is not None and after.operator.generated else None
    if hint and made is not None and made.base_name is None:  # of an entry that writes, whose 'upgrade' is its own
        hint = f"declare {name} in an entry of its own; {hint}"
    shown = tuple(each for each in concerned if each in served)
    return Breakage(difference.code, name, difference.message, breaks, *spans, hint, shown)


# What an upgrade mends in graphs, and where calls of the former version are told from others.
_UPGRADED = frozenset(
    (
        "argument-removed", "argument-renamed", "argument-moved", "argument-required", "argument-type", "keyword-only",
        "default-changed", "default-removed",
    )
)  # fmt: skip
_TOLD = frozenset(("argument-removed", "argument-renamed", "argument-required", "argument-type"))


def _argument_span(promise: Promise, name: str) -> Span:
    """Return where a schema has an argument, or the whole schema."""
    text = promise.span.text
    found = re.compile(rf"\b{re.escape(name)}\b(?=\s*[,=)])").search(text, text.find("(")) if name else None
    return promise.span if found is None else promise.span.sub(*found.span())


def _of_places(name: str, before: Promise, after: Promise) -> Iterator[Breakage]:
    """Yield what is no longer called as it was: as a method, or in a module."""
    assert before.operator is not None
    assert after.operator is not None
    lost = set(before.operator.variants) - set(after.operator.variants)
    base = before.schema.name.base
    for variant in sorted(lost):
        message = f"it is no {'method' if variant == 'method' else 'function'} any more: x.{base}(…) worked"
        if variant == "function":
            message = f"it is no function any more: {base}(…) worked"
        hint = "write 'variants: function, method'"
        span = after.operator.span("variants")
        yield Breakage("method-removed", name, message, CODES["method-removed"], before.span, span, hint)
    if before.operator.python_module != after.operator.python_module:
        was, now = (each or "the package" for each in (before.operator.python_module, after.operator.python_module))
        message = f"it is in {now} instead of {was}"
        span = after.operator.span("python_module")
        yield Breakage("module-changed", name, message, CODES["module-changed"], before.span, span)


def _ahead(old: State, new: State) -> Iterator[Breakage]:
    """Yield new overloads that take calls of older ones, which stand behind them: a call goes to the first that it
    fits."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, promise in new.promises.items():
        groups.setdefault((promise.schema.name.namespace, promise.schema.name.base), []).append(name)
    for names in groups.values() if len(groups) < len(new.promises) else ():
        first = [name for name in names if name not in old.promises]
        for name in first:
            yield from _taken(name, names[names.index(name) + 1 :], old, new)


def _taken(name: str, behind: Sequence[str], old: State, new: State) -> Iterator[Breakage]:
    own = new.promises[name]
    if own.schema.kind is SchemaKind.OUT:
        return
    for other in behind:
        before = old.promises.get(other)
        if before is None or before.schema.kind is SchemaKind.OUT:
            continue
        fresh = replace(own.schema, name=before.schema.name)
        if not [each for each in differences(fresh, before.schema) if each.code not in _RESULTS]:
            message = f"calls of {other} go to this new overload, which stands before it"
            hint = f"declare it behind {other}"
            yield Breakage("overload-ahead", name, message, CODES["overload-ahead"], before.span, own.span, hint)


_RESULTS: Collection[str] = frozenset(("result-count", "result-renamed", "result-type", "alias-changed"))


def chosen(found: Sequence[Breakage], categories: Collection[str]) -> list[Breakage]:
    """Return the findings that concern some of the categories, with these alone."""
    kept = []
    for each in found:
        breaks = tuple(name for name in each.categories if name in categories)
        served = tuple(name for name in each.served if name in categories)
        if breaks or served:
            kept.append(replace(each, categories=breaks, served=served))
    return kept


def counted(found: Sequence[Breakage]) -> Mapping[str, int]:
    """Return how many findings of each code break something."""
    counts: dict[str, int] = {}
    for each in found:
        if each.categories:
            counts[each.code] = counts.get(each.code, 0) + 1
    return counts
