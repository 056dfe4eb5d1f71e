"""Where what a run draws at random begins: at a fixed seed, or at a fresh one with `--explore`.

Nothing in the tests draws but from a generator whose seed comes from here. `--explore` chooses a seed for the run and
prints it; `--explore=SEED` repeats that run. Workers of pytest-xdist get the seed of the process that started them.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pytest

_FRESH = -1  # what `--explore` alone stands for, until a seed is chosen
_VARIABLE = "OPWRIGHT_TESTS_EXPLORE"  # tells programs that tests start

of_the_run: int | None = int(os.environ[_VARIABLE]) if _VARIABLE in os.environ else None  # None without --explore


def seed(of: int | float | str) -> int:
    """The seed of what a number or a name stands for: always the same, but for runs with `--explore`."""
    if of_the_run is not None:
        return zlib.crc32(f"{of_the_run} {of}".encode())
    return of if isinstance(of, int) else zlib.crc32(str(of).encode())


def generator(of: int | float | str) -> random.Random:
    """Python's generator, with the seed of a number or a name."""
    return random.Random(seed(of))


def numpy_generator(*of: int | float | str) -> np.random.Generator:
    """NumPy's generator, with the seeds of numbers or names."""
    seeds = [seed(each) for each in of]
    return np.random.default_rng(seeds if len(seeds) > 1 else seeds[0])


def begin(of: str) -> None:
    """Seed the generators that libraries share."""
    start = seed(of)
    random.seed(start)
    np.random.seed(start)
    for name in ("torch", "opwright"):
        if (library := sys.modules.get(name)) is not None:
            library.default_generator.manual_seed(start)  # (torch.manual_seed keeps a stack for devices not here)


def add_options(parser: pytest.Parser) -> None:
    parser.addoption(
        "--explore",
        metavar="SEED",
        nargs="?",
        type=_seed_of_a_run,
        const=_FRESH,
        help="draw at random from a fresh seed, which is printed, or from that of a run before",
    )


def _seed_of_a_run(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no seed: write --explore=SEED, or --explore behind the files")
    return int(text)


def configure(config: pytest.Config) -> None:
    """Choose the seed of the run, and that of Hypothesis. How long an example takes is the machine's business."""
    import hypothesis

    global of_the_run
    if not hasattr(config, "workerinput"):  # a worker has that of the process that started it
        asked = config.option.explore
        of_the_run = secrets.randbits(32) if asked == _FRESH else asked
        os.environ.pop(_VARIABLE, None)
    if of_the_run is not None:
        os.environ[_VARIABLE] = str(of_the_run)
        config.option.hypothesis_seed = str(of_the_run)  # its plugin reads the option after us
    hypothesis.settings.register_profile(
        "run",
        deadline=None,
        derandomize=of_the_run is None,
        database=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("run")
    config.pluginmanager.register(_Seeding())


class _Seeding:
    """Seeds what is shared by all: a test draws the same whichever tests ran before it."""

    def pytest_report_header(self) -> str | None:
        return None if of_the_run is None else f"drawn from the seed {of_the_run}: --explore={of_the_run} repeats it"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if of_the_run is not None:
            terminalreporter.write_line(f"--explore={of_the_run} draws the same again")

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        begin(item.nodeid)
