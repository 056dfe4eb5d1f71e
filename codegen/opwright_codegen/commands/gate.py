"""The command `gate`: operators judged by their declarations, in the process of the installed runtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from opwright_codegen.commands.config import find_config
from opwright_codegen.commands.report_options import BASELINE, cache_folder, known_findings
from opwright_codegen.errors import SchemaError, UsageError, library_module

__all__ = ["run_gate"]

_TOLD: Final = (0, 1)


def run_gate(words: Sequence[str]) -> int:
    """Run the gate of the runtime with the words of the command line; return its exit status.

    0 where nothing is broken but what is known, 1 where something is, 2 for wrong usage. The runtime has the options,
    but for the baseline, which is read here: what is known is handed over in a pipe. Raises SchemaErrors for a wrong
    one, UsageError for one that is not there.
    """
    if "--mutate" in words:
        from opwright_codegen.commands.mutate import mutate_words

        return mutate_words(words)
    try:
        root = find_config(Path.cwd()).root
    except SchemaError as error:
        raise UsageError(str(error)) from None
    peek = ArgumentParser(prog="opwright gate", add_help=False, allow_abbrev=False)
    peek.add_argument("--baseline", metavar="FILE")
    peek.add_argument("--write-baseline", action="store_true")
    said, _ = peek.parse_known_args(words)
    handed = {
        "known": known_findings(said.baseline, root, may_be_missing=said.write_baseline),
        "baseline": str(said.baseline or root / BASELINE) if said.write_baseline else None,
        "cache": str(cache_folder(root)),
    }
    paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", library_module("opwright_gate.command"), "--handed", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it may have ended already, for wrong usage
            process.stdin.write(json.dumps(handed).encode() + b"\n")
            process.stdin.flush()
        status = process.wait()  # the pipe stays open: its end tells the process that this one is gone
    return status if status in _TOLD else 2
