"""The command `lint`: what is allowed, and better otherwise: names, missing texts and gradients, rules without use."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from opwright_codegen.building.progress import shown
from opwright_codegen.commands.job import Job
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import SchemaError, UsageError, nearest
from opwright_codegen.findings.finding import Outcome
from opwright_codegen.findings.text import write_findings
from opwright_codegen.read.old_dims import OLD_KEYS
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.source import Span

if TYPE_CHECKING:
    from opwright_codegen.declared.model import DeclaredSet
    from opwright_codegen.declared.parts import Operator

__all__ = ["CODES", "lint", "lints_of"]

CODES: Final = (
    "operator-name",
    "argument-name",
    "missing-doc",
    "missing-meta",
    "missing-derivative",
    "unused-rule",
    "old-dims",
)
_OURS: Final = ("opwright.rules", "opwright_core.rules", "opwright_kernels.rules")  # rules for everybody
_FORMULAS: Final = ("meta", "dims")
_WORDS: Final = re.compile(r"[a-z0-9]+|[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
_CAPITALS: Final = re.compile(r"[A-Z][a-z]|[A-Z]{2}")  # mT, numpy_T: one letter is a transpose
_CAMEL: Final = re.compile(r"[a-z][A-Z][a-z]")
_WITHOUT_GRADIENT: Final = re.compile(r"""kind=["']bool["']|dtype=(?:bool|u?int\d+)\b""")


def lint(job: Job, arguments: Namespace, out: TextIO, outcome: Outcome) -> int:
    """Print what could be better; the status: 1 where something could. Raises UsageError for an unknown code."""
    for code in arguments.ignore:
        if code not in CODES:
            near = nearest(code, CODES)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(CODES)}"
            raise UsageError(f"--ignore: no lint has the code {code!r}: {hint}")
    outcome.files += map(shown, job.data)
    for each in lints_of(job):
        if each.code not in arguments.ignore:
            outcome.add(each, "warning")
    write_findings(outcome.findings, out)
    number = len(outcome.findings)
    outcome.facts["warnings"] = number
    print("nothing to better" if not number else f"\n{number:,} warning{'s' * (number != 1)}", file=out)
    return int(bool(number))


def lints_of(job: Job) -> list[SchemaError]:
    """Return all that could be better in the files of a job, in the order of its files. Raises SchemaErrors."""
    sets = declare(job, binds=False).values()
    found = [problem for each in sets for problem in _of_namespace(each)]
    order = [source.path for each in sets for source in each.operators.sources]
    found.sort(key=lambda each: (order.index(each.span.source.path), each.span.start) if each.span else (len(order), 0))
    return [*found, *_rules(job, [operator for each in sets for operator in each.written])]


def _of_namespace(declared: DeclaredSet) -> Iterator[SchemaError]:
    """Yield all that could be better in the entries of one namespace."""
    for each in declared.written:
        yield from (*_names(each), *_doc(each), *_meta(each), *_old_dims(each))
    if declared.derivatives is not None:
        known = declared.derivatives.entries.keys()
        groups = [{member.name for member in group.members} for group in declared.operators.groups]
        covered = {name for group in groups if not known.isdisjoint(group) for name in group} | known
        for each in declared.written:
            yield from _derivative(each) if each.name not in covered else ()


def _names(operator: Operator) -> Iterator[SchemaError]:
    """Yield names of an operator and its arguments that are not written as Python's are."""
    base = operator.schema.name.base
    if _CAPITALS.search(base):
        span = _of_text(operator, base)
        hint = f"write {_snake(base)!r}: functions and methods of that name are generated"
        yield SchemaError("operator-name", f"the name {base!r} has capital letters", span, hint)
    for argument in operator.schema.arguments:
        if _CAMEL.search(argument.name):
            span = _of_text(operator, argument.name)
            hint = f"write {_snake(argument.name)!r}: it is a parameter of functions that are generated"
            yield SchemaError(
                "argument-name", f"the name {argument.name!r} mixes small and capital letters", span, hint
            )


def _doc(operator: Operator) -> Iterator[SchemaError]:
    if not operator.doc:
        hint = "write doc: and what it returns, in a sentence: help(), editors and pages show it"
        yield SchemaError("missing-doc", f"{operator.name} has no text", operator.location, hint)


def _meta(operator: Operator) -> Iterator[SchemaError]:
    """Yield a problem where nothing states the shapes and dtypes of new results."""
    if operator.kind is not SchemaKind.FUNCTIONAL or operator.is_composite or operator.expression is not None:
        return
    is_written = (
        operator.meta is not None
        or operator.structured_delegate is not None  # whose entry has it
        or any(key == "Meta" for key, _ in operator.dispatch)
    )
    if not is_written and any(str(result.type).startswith("Tensor") for result in operator.schema.returns):
        first = next((each.name for each in operator.schema.arguments if each.type.is_tensor_like), "self")
        hint = f"add, for example, meta: like({first}): fake tensors, torch.compile and JAX ask for shapes and dtypes"
        yield SchemaError("missing-meta", f"{operator.name} has no 'meta'", operator.location, hint)


def _old_dims(operator: Operator) -> Iterator[SchemaError]:
    """Yield the keys that `dims` has replaced."""
    for key in OLD_KEYS:
        if key in operator.spans:
            message, hint = f"{key!r} is a part of 'dims' now", f"opwright fmt writes it: dims: {operator.dims}"
            yield SchemaError("old-dims", message, operator.spans[key][0], hint)


def _derivative(operator: Operator) -> Iterator[SchemaError]:
    """Yield a problem where gradients could be asked for and nothing says them."""
    schema = operator.schema
    if operator.kind is not SchemaKind.FUNCTIONAL or operator.is_composite or operator.expression is not None:
        return
    if "nondifferentiable" in operator.tags or (operator.meta and _WITHOUT_GRADIENT.search(str(operator.meta))):
        return
    takes = any(str(argument.type).startswith("Tensor") for argument in schema.arguments)
    gives = any(str(result.type).startswith("Tensor") for result in schema.returns)
    if takes and gives:
        hint = "add its gradients to derivatives.yaml; if it has none, output_differentiability: [False]"
        yield SchemaError("missing-derivative", f"{operator.name} has no derivative", operator.location, hint)


def _rules(job: Job, operators: Sequence[Operator]) -> Iterator[SchemaError]:
    """Yield rules of the project's own modules that no formula calls."""
    own = [name for name in job.rules if name not in _OURS]
    said = " ".join(str(text) for each in operators for name in _FORMULAS if (text := getattr(each, name)))
    used = set(re.findall(r"\w+", said))
    modules = job.modules(own, "rule")
    for name in sorted(modules.names - used):
        function = modules.find(name)
        if function is not None and not name.startswith("_"):
            message = f"no formula calls the rule {name!r} of {function.module}"
            yield SchemaError("unused-rule", message, None, "remove it, or begin its name with an underscore")


def _of_text(operator: Operator, word: str) -> Span:
    """Return where a word stands in the schema of an operator."""
    span = operator.span("func")
    found = re.search(rf"\b{re.escape(word)}\b", span.text)
    return span.sub(found.start(), found.end()) if found else span


def _snake(name: str) -> str:
    """Return a name as Python writes names of functions: `addRows` is `add_rows`."""
    before, after = re.match(r"_*", name), re.search(r"_*$", name)
    ends = (before[0] if before else "", after[0] if after else "")
    return f"{ends[0]}{'_'.join(word.lower() for word in _WORDS.findall(name))}{ends[1]}"
