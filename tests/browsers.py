"""A browser without a window, for tests of pages: Chromium or Chrome where one is in PATH and starts, else a skip."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "google-chrome-stable")


def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("needs a browser: chromium or chrome in PATH")
    if not _starts(found):
        pytest.skip("needs a browser: the one that there is does not start here")
    return found


@functools.cache
def _starts(browser: str) -> bool:
    """Whether a browser shows an empty page: in some containers it may not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            return "<html" in shown(browser, Path(folder), "about:blank")
        except (OSError, subprocess.SubprocessError):
            return False


def command(browser: str, folder: Path) -> list[str]:
    """The command that starts a browser, whose own files go into the folder."""
    return [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]


def shown(browser: str, folder: Path, address: str) -> str:
    """What a browser makes of a page, as text."""
    asked = [*command(browser, folder), "--virtual-time-budget=5000", "--dump-dom", address]
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout
