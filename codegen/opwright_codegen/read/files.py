"""The reading of schema files into an OperatorSet: read, held against the rules, and completed."""

from __future__ import annotations

from collections.abc import Iterable

from opwright_codegen import data_folder
from opwright_codegen.documents.files import PathLike, read_source
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.autogen import add_variants, inherit_kernels
from opwright_codegen.read.check import check_operators
from opwright_codegen.read.docs import inherit_docs, tell_deprecations
from opwright_codegen.read.entries import read_operators, read_tags
from opwright_codegen.read.groups import check_group, group_operators
from opwright_codegen.read.model import Operator, OperatorGroup, OperatorSet
from opwright_codegen.read.namespaces import check_namespaces
from opwright_codegen.read.old_forms import add_old_forms, with_old_forms
from opwright_codegen.schema.names import PYTORCHS
from opwright_codegen.source import Source

__all__ = ["known_tags", "read", "read_sources", "read_text"]


def read(paths: Iterable[PathLike], tags: PathLike | None = None, namespace: str | None = PYTORCHS) -> OperatorSet:
    """Return the operators that the files at `paths` declare, and the variants made from them.

    `tags` is the file of tags; without it, the one that ships with this package. Operators that are declared without a
    namespace are in `namespace`; None forbids that.
    Raises SchemaErrors with everything that is wrong.
    """
    errors = Errors()
    sources = [source for path in paths if (source := _try_source(path, errors)) is not None]
    return _read_sources(sources, known_tags(tags, errors), errors, namespace)


def read_sources(sources: list[Source], tags: PathLike | None = None, namespace: str | None = PYTORCHS) -> OperatorSet:
    """Read the operators of texts that are there already, as `read` does those of files."""
    errors = Errors()
    return _read_sources(sources, known_tags(tags, errors), errors, namespace)


def read_text(text: str, path: str = "<text>", tags: PathLike | None = None) -> OperatorSet:
    """Read the operators of a file that holds `text`."""
    errors = Errors()
    return _read_sources([Source(path, text)], known_tags(tags, errors), errors, PYTORCHS)


def _try_source(path: PathLike, errors: Errors) -> Source | None:
    try:
        return read_source(path)
    except SchemaError as error:
        errors.add(error)
        return None


def known_tags(path: PathLike | None, errors: Errors) -> dict[str, str]:
    """Return the tags of a file, of the one that ships with this package for None, each with its description."""
    if path is None:
        path = data_folder("schemas") / "tags.yaml"
    source = _try_source(path, errors)
    return read_tags(source, errors) if source is not None else {}


def _read_sources(sources: list[Source], tags: dict[str, str], errors: Errors, namespace: str | None) -> OperatorSet:
    operators: dict[str, Operator] = {}
    for source in sources:
        for operator in read_operators(source, tags, errors, namespace or PYTORCHS):
            _declare(operator, operators, errors)
    if namespace is None:
        check_namespaces(operators.values(), errors)
    # What reads wrong is missing below; what is missing makes errors that are none.
    is_whole = not errors
    check_operators(operators, errors)
    if not is_whole:
        errors.raise_if_any()
    operators = add_old_forms(operators, errors)
    groups = group_operators(operators.values(), errors)
    errors.raise_if_any()
    operators = tell_deprecations(inherit_docs(inherit_kernels(operators)))
    return _complete(operators, groups, sources, errors, namespace or PYTORCHS)


def _complete(
    operators: dict[str, Operator],
    groups: list[OperatorGroup],
    sources: list[Source],
    errors: Errors,
    namespace: str,
) -> OperatorSet:
    whole = []
    for group in groups:
        if errors.is_full:
            break
        made = with_old_forms(add_variants(group.renewed(operators), errors))
        check_group(made, errors)
        whole.append(made)
        for operator in (made.out, made.functional, made.inplace):  # the order of torchgen
            if operator is not None and operator.generated:
                _declare(operator, operators, errors)
    for operator in list(operators.values()):
        _check_variant_tags(operator, operators, errors)
    errors.raise_if_any()
    return OperatorSet(operators, tuple(whole), tuple(sources), namespace, tuple(errors.advice))


def _check_variant_tags(operator: Operator, operators: dict[str, Operator], errors: Errors) -> None:
    for name in () if operator.generated else operator.variant_tags:
        made = operators.get(f"{operator.namespace}::{name}")
        if made is None or not made.generated:
            message = f"'variant_tags' names {name!r}, which is no variant made of {operator.name}"
            hint = "an operator with an entry of its own has 'tags' there"
            errors.add(SchemaError("variant-tags", message, operator.span("variant_tags"), hint))


def _declare(operator: Operator, operators: dict[str, Operator], errors: Errors) -> None:
    first = operators.setdefault(operator.name, operator)
    if first is operator:
        return
    message = f"{operator.name} is declared twice"
    local = operator.name.partition("::")[2]
    span = operator.autogen_span(local) if operator.generated else operator.span("func")
    errors.add(SchemaError("duplicate-operator", message, span, f"the first is at {first.location}"))
