"""The place that the running Opwright was installed from, as pip can install it again."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import opwright_codegen

__all__ = ["origin"]


def origin() -> str:
    """Return what pip installs this Opwright from: a folder, a file, a requirement; nothing where nobody knows."""
    try:
        found = distribution("opwright")
        text = found.read_text("direct_url.json")
    except PackageNotFoundError:
        return _clone()
    try:
        return _place(json.loads(text)) if text else f"opwright=={found.version}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return _clone()


def _place(told: Any) -> str:
    """Return the place that the file `direct_url.json` of an installation tells: PyPA's specification has its keys."""
    url = str(told["url"])
    parts = urlsplit(url)
    if parts.scheme == "file":
        return unquote(parts.path)
    inside = f"#subdirectory={told['subdirectory']}" if "subdirectory" in told else ""
    if "vcs_info" in told:
        information = told["vcs_info"]
        return f"opwright @ {information['vcs']}+{url}@{information['commit_id']}{inside}"
    return f"opwright @ {url}{inside}"


def _clone() -> str:
    """Return the folder of the clone that this code stands in, where it was not installed."""
    folder = Path(opwright_codegen.__file__).resolve().parents[2]
    return str(folder) if (folder / "runtime" / "pyproject.toml").is_file() else ""
