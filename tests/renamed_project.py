"""A project of ATen's operators under the namespace `renamed`, for bindings that are tested with all of them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("pointwise", "unary", "comparisons", "reductions", "activations", "losses", "shapes", "linear_algebra")


def write_project(folder: Path, framework: str = "torch") -> None:
    """Write schema files whose operators are `renamed::…`, with their derivatives, and settings that give them to a
    framework."""
    names = set()
    for each in FILES:
        text = (ROOT / "schemas" / f"{each}.yaml").read_text(encoding="utf-8")
        text = re.sub(r"^- func: (?:aten::)?(?=\w)", "- func: renamed::", text, flags=re.MULTILINE)
        names |= set(re.findall(r"^- func: renamed::([\w.]+)\(", text, flags=re.MULTILINE))
        (folder / f"{each}.yaml").write_text(text, encoding="utf-8")
    derivatives = (ROOT / "schemas" / "derivatives.yaml").read_text(encoding="utf-8")
    entries = re.split(r"^(?=- name: )", derivatives, flags=re.MULTILINE)[1:]
    kept = [entry.replace("- name: ", "- name: renamed::", 1) for entry in entries if _name(entry) in names]
    (folder / "derivatives.yaml").write_text("".join(kept), encoding="utf-8")
    (folder / "tags.yaml").write_text((ROOT / "schemas" / "tags.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        f'[tool.opwright]\nschemas = {[f"{each}.yaml" for each in FILES]!r}\ntags = "tags.yaml"\n'
        'derivatives = "derivatives.yaml"\noutput = "renamed_ops"\nkernels = ["opwright_kernels"]\n'
        f'bindings = ["{framework}"]\n'
    )


def _name(entry: str) -> str:
    return entry.removeprefix("- name: ").partition("(")[0]
