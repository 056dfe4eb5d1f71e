"""`opwright breaking` beside PyTorch: is each schema of a corpus, changed in one place, still compatible with itself?

    python tests/codegen/compatible_pairs.py FILE [FILE …]

A FILE has a schema a line, or a JSON object with `schema`; one that ends in `.xz` is unpacked. Each schema that both
parsers take makes two pairs: itself with itself, and with one mutation. PyTorch's `is_backward_compatible_with` is the
oracle. Differences are listed with their reasons.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.compat import incompatibilities
from opwright_codegen.schema.model import FunctionSchema

__all__ = ["compared", "mutated", "parsed"]

# What is put in the place of what, as people change schemas.
_CHANGES = (
    (r"(?<=[ ])(\w+)(?=[,)=])", r"\1_renamed"),  # an argument's name
    (r"=[\w.\[\]-]+", ""),
    (r"=(\d+)", r"=7\1"),
    (r"=True", "=False"),
    (r"=Mean", "=1"),
    (r"\bTensor\b(?![?(\[])", "Tensor?"),
    (r"\bTensor\?", "Tensor"),
    (r"\bint\b(?!\[)", "Scalar"),
    (r"\bfloat\b", "float?"),
    (r"\bbool\b", "Scalar"),
    (r"\bint\b(?!\[)", "ScalarType"),
    (r"\bSymInt\b", "int"),
    (r"\(a!\)", ""),
    (r"\bTensor (?=\w+[,)])", "Tensor(a!) "),
    (r"\)(?= ->)", ", int added=1)"),
    (r"\)(?= ->)", ", int added)"),
    (r"(?<=\()(?=\w)", "int first, "),
    (r", ", ", *, "),
    (r", [^,()\[\]]+(?=[,)])", ""),
    (r"-> Tensor$", "-> (Tensor, Tensor)"),
    (r"-> Tensor$", "-> Tensor named"),
    (r"-> \(", "-> (Tensor, "),
    (r"\[\]", "[2]"),
    (r"\*, ", ""),
)
_KNOWN = {
    "behind out arguments": "PyTorch does not look at what is added there; no call of before gives it",
    "ints of PyTorch": "its parser makes ints of ScalarType, Layout and MemoryFormat, and a type variable of number",
    "whole default of float?": "PyTorch keeps 2 an int for float?, unlike the 2.0 of float; calls mean the same",
}

_OTHER_TYPES = re.compile(r"(?:(?<=\()|(?<=, )|(?<=-> ))(ScalarType|Layout|MemoryFormat|number)\b")


def mutated(schema: str, random: random.Random) -> str | None:
    """Return the schema with one change, None where none of them fits."""
    for pattern, instead in random.sample(_CHANGES, len(_CHANGES)):
        places = list(re.finditer(pattern, schema))
        if places:
            place = random.choice(places)
            changed = schema[: place.start()] + place.expand(instead) + schema[place.end() :]
            if changed != schema:
                return changed
    return None


def parsed(text: str) -> tuple[Any, FunctionSchema] | None:
    """Return a schema as PyTorch and as we read it; None where one of both does not."""
    import torch

    try:
        return torch._C.parse_schema(text), FunctionSchema.parse(text)
    except (RuntimeError, MemoryError, IndexError, ValueError, SchemaError):  # (PyTorch's of long lists and numbers)
        return None


def compared(old: tuple[Any, FunctionSchema], new: tuple[Any, FunctionSchema]) -> tuple[bool, list[str], str | None]:
    """Return whether PyTorch says that `new` may replace `old`, our reasons against it, and why both may differ."""
    try:
        theirs = new[0].is_backward_compatible_with(old[0])
    except (RuntimeError, IndexError):
        theirs = False
    reasons = incompatibilities(new[1], old[1])
    first = next((at for at, each in enumerate(new[1].arguments) if each in new[1].out_arguments), None)
    behind = (
        [] if first is None else [f"new argument '{each.name}' has no default" for each in new[1].arguments[first:]]
    )
    if theirs != (not reasons) and _OTHER_TYPES.search(f"{old[1]} {new[1]}"):
        ints = [FunctionSchema.parse(_OTHER_TYPES.sub("int", str(schema))) for schema in (new[1], old[1])]
        there = set(incompatibilities(*ints)) - set(behind)
        if "number" in f"{old[1]} {new[1]}" or theirs == (not there):
            return theirs, reasons, "ints of PyTorch"
    if not theirs and not reasons and re.search(r"\bfloat\?[^,]*=-?\d+[,)]", str(new[1])):
        return theirs, reasons, "whole default of float?"
    return theirs, reasons, "behind out arguments" if theirs and reasons and set(reasons) <= set(behind) else None


def _schemas(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    for line in (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8").splitlines():
        text = json.loads(line)["schema"] if line.startswith("{") else line.strip()
        if text and not text.startswith("#"):
            yield text


def main(paths: list[str]) -> int:
    """Compare all pairs; the status: 1 where an answer differs without a known reason."""
    sys.path.append(str(Path(__file__).parents[1]))
    import seeds

    rng = seeds.generator(0)
    pairs, unread = [], Counter[str]()
    for text in (text for path in paths for text in _schemas(Path(path))):
        own = parsed(text)
        if own is None:
            unread["schemas that one of both refuses"] += 1
            continue
        pairs.append((text, text, own, own))
        changed = next((each for _ in range(8) if (each := mutated(text, rng)) and parsed(each)), None)
        other = None if changed is None else parsed(changed)
        if changed is None or other is None:
            unread["schemas without a mutation that both read"] += 1
            continue
        pairs.append((text, changed, own, other))
    started = time.perf_counter()
    answers = [compared(own, other) for _, _, own, other in pairs]
    seconds = time.perf_counter() - started
    known, wrong = Counter[str](), 0
    for (text, changed, _, _), (theirs, reasons, why) in zip(pairs, answers, strict=True):
        if theirs != (not reasons):
            known[why or "no known reason"] += 1
            if why is None:
                wrong += 1
                print(f"{text}\n{changed}\n    PyTorch: {theirs}; here: {reasons}")
    broken = sum(not theirs for theirs, _, _ in answers)
    equal = len(pairs) - sum(known.values())
    print(f"{len(pairs):,} pairs in {seconds:.2f} s: {broken:,} break by PyTorch; {equal:,} equal")
    for why, count in (*known.items(), *unread.items()):
        print(f"  {count:,} {why}{f': {_KNOWN[why]}' if why in _KNOWN else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
