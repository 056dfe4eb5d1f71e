"""The key `launch`: how CUDA kernels are launched; its reader and its rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from opwright_codegen.documents.nodes import (
    node_span,
    one_of,
    read_list_or_one,
    read_scalar,
    text_span,
    unknown,
    wrong_type,
)
from opwright_codegen.documents.yaml_reader import MappingNode, Node
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.model import Launch, Operator
from opwright_codegen.read.rule import Declared, Problem, Rule
from opwright_codegen.source import Source

__all__ = ["GRANTED", "LAUNCH_RULES", "NUMBERS", "read_launch"]

GRANTED: Final = 48 << 10  # bytes of shared memory that a block has on every device, without asking for more
_MOST: Final = 227 << 10  # that some device has
NUMBERS: Final = {"threads": (1, 1024), "elements": (1, 1 << 16), "shared_limit": (0, _MOST), "ndim": (0, 16)}
_KEYS: Final = ("threads", "elements", "shared", "shared_limit", "grid", "ndim", "options", "constants")
_WORD = re.compile(r"[0-9]{1,6}|threads|itemsize")
_OPTION = re.compile(r"--?[A-Za-z][\w.,:=+/-]*", re.ASCII)
_ROWS_OF = re.compile(r"rows of ([A-Za-z_]\w*)")
_LAUNCHED = re.compile(r"\s*(?:raw|triton):(?!:)")
_read_grid = one_of("grid", ("elements", "rows"))


def read_launch(node: Node, source: Source) -> Launch:
    """Read a mapping such as `{threads: 256, elements: 4}`."""
    if type(node) is not MappingNode:
        raise wrong_type("a mapping", node, source, "write {threads: 256, elements: 4}")
    found: dict[str, Any] = {}
    for name, (key, value) in node.pairs.items():
        if name == "ndim" and type(value) is MappingNode:
            found["dims"] = tuple((array, _number("ndim", of, source)) for array, (_, of) in value.pairs.items())
        elif name in NUMBERS:
            found[name] = _number(name, value, source)
        elif name == "shared":
            found[name] = _shared(value, source)
        elif name == "grid":
            found[name], found["rows_of"] = _grid(value, source)
        elif name == "options":
            found[name] = _options(value, source)
        elif name == "constants":
            found[name] = _constants(value, source)
        else:
            raise unknown("launch key", name, _KEYS, node_span(key, source))
    return Launch(**found)


def _number(name: str, node: Node, source: Source) -> int:
    scalar = read_scalar(node, source)
    least, most = NUMBERS[name]
    if re.fullmatch(r"[0-9]{1,9}", scalar.text) and least <= int(scalar.text) <= most:
        return int(scalar.text)
    message = f"{name!r} is a number from {least} to {most:,}"
    hint = "a block has at most 1,024 threads" if name == "threads" else None
    raise SchemaError("launch-number", message, text_span(scalar, source), hint)


def _grid(node: Node, source: Source) -> tuple[str, str]:
    """Read `elements`, `rows`, or `rows of NAME`: the grid, and whose rows these are."""
    named = _ROWS_OF.fullmatch(read_scalar(node, source).text)
    return ("rows", named[1]) if named is not None else (_read_grid(node, source), "")


def _shared(node: Node, source: Source) -> tuple[tuple[str, ...], ...]:
    scalar = read_scalar(node, source)
    terms = tuple(tuple(word.strip() for word in term.split("*")) for term in scalar.text.split("+"))
    if len(terms) <= 8 and all(len(term) <= 4 and all(map(_WORD.fullmatch, term)) for term in terms):
        return terms
    message = "bytes of shared memory are numbers, 'threads' and 'itemsize', multiplied and added"
    raise SchemaError("launch-shared", message, text_span(scalar, source), "for example 'threads * itemsize'")


def _options(node: Node, source: Source) -> tuple[str, ...]:
    scalars = read_list_or_one(node, source)
    for scalar in scalars:
        if not _OPTION.fullmatch(scalar.text):
            hint = "write a list: [--use_fast_math, -DSIZE=4]"
            raise SchemaError("launch-option", "an option of NVRTC is expected", text_span(scalar, source), hint)
    return tuple(scalar.text for scalar in scalars)


def _constants(node: Node, source: Source) -> tuple[tuple[str, str], ...]:
    """Read names of constants, each with a number or one of the words for one."""
    if type(node) is not MappingNode:
        raise wrong_type("a mapping", node, source, "write constants: {BLOCK: elements}")
    found = []
    for name, (_, value) in node.pairs.items():
        scalar = read_scalar(value, source)
        if not re.fullmatch(r"-?[0-9]{1,9}|elements|row", scalar.text):
            message = "a constant is a number, 'elements' or 'row'"
            raise SchemaError("launch-constants", message, text_span(scalar, source), "for example {BLOCK: elements}")
        found.append((name, scalar.text))
    return tuple(found)


# -- the rules


def _has_launched_kernel(operator: Operator, _: Declared) -> Problem | None:
    if operator.generated or operator.launch is None:  # (a wrong one is said elsewhere)
        return None
    if any(_LAUNCHED.match(kernel.text) for _, kernel in operator.dispatch):
        return None
    hint = "leave it out, or name a kernel: dispatch: {CUDA: raw:csrc/file.cu::my_kernel}"
    return Problem(
        "'launch' is about kernels 'raw:…' and 'triton:…', and 'dispatch' names none", operator.span("launch"), hint
    )


def _has_constants(operator: Operator, _: Declared) -> Problem | None:
    if operator.generated or operator.launch is None or not operator.launch.constants:
        return None
    if any(kernel.text.strip().startswith("triton:") for _, kernel in operator.dispatch):
        return None
    hint = "leave them out; those of 'raw:…' are options: [-DBLOCK=256]"
    return Problem("'constants' are for kernels of Triton", operator.span("launch"), hint)


LAUNCH_RULES: Mapping[str, Rule] = {"launch-missing": _has_launched_kernel, "launch-constants": _has_constants}
