"""Pages whose blocks build on each other: run in a folder, and held against the output that they show.

A block that begins with the name of a file is written there. Blocks of shell and Python run in the order they stand
in, those of Python in one process for each page. An unlabelled block right behind one is what it prints: `…` alone on a
line stands for any lines; times, numbers of files and lines of our schemas may differ. Without one it has to succeed.

    python tests/documentation/running_pages.py docs/tutorial/[1-4]*.md    # pages show what came, from now on
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?:#|//|/\*) (\S+\.\w+)(?: \*/)?\n")
_VARIES = re.compile(
    r"\b(declare |render |write |schemas/\w+\.yaml:)[\d.]+"
    r"|[\d.]+( ?ms| ?s)\b"
    r"|(?:\d+ (?:created|(?:un)?changed)(?:, )?)+"
)


class Cell(NamedTuple):
    """A block, the file that it is, and the output that the page shows behind it."""

    line: int
    language: str
    text: str
    file: str | None
    shown: str | None
    span: tuple[int, int]  # of the block with its fences
    output: tuple[int, int]  # of the text that is shown

    def write(self, folder: Path) -> None:
        """Writes the file that the block is."""
        path = folder / str(self.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")


def read_cells(page: str) -> list[Cell]:
    """Returns the blocks of a page that are no excerpts, each with its output."""
    blocks = list(_BLOCK.finditer(page))
    cells = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if not block[1] or block[1].endswith("excerpt"):
            continue
        shown, output = None, (block.end(), block.end())
        if after is not None and not after[1] and not page[block.end() : after.start()].strip():
            shown, output = after[2], after.span(2)
        named = _FILE.match(block[2])
        line = page.count("\n", 0, block.start(2)) + 1
        cells.append(Cell(line, block[1], block[2], named[1] if named else None, shown, block.span(), output))
    return cells


def agrees(shown: str, came: str) -> bool:
    """Returns whether what a page shows is what came, but for times, the order of files that are compiled at once, and
    the lines that it leaves out."""
    shown, came = _in_order(shown), _in_order(came)
    lines = [
        r"(?:.*\n)*" if line.strip() == "…" else re.escape(line.rstrip()) + r"[ ]*\n"
        for line in _VARIES.sub(r"\1N\2", shown).splitlines()
    ]
    return re.fullmatch("".join(lines), _VARIES.sub(r"\1N\2", came)) is not None


def _in_order(output: str) -> str:
    """Returns an output with the files that compilers were done with in the order of their names."""

    def ordered(found: re.Match[str]) -> str:
        return "".join(sorted(re.sub(r"^\[\d+/", "[N/", line) for line in found[0].splitlines(keepends=True)))

    return re.sub(r"(?:^\[\d+/\d+\] .*\n)+", ordered, output, flags=re.MULTILINE)


def run_pages(jobs: Sequence[tuple[Path, Path]]) -> list[str]:
    """Runs pages, each in its folder; returns what they print otherwise than they show, with its place."""
    wrong = []
    for (page, _), outputs in zip(jobs, _outputs(jobs), strict=True):
        for cell, (came, failed) in zip(read_cells(page.read_text(encoding="utf-8")), outputs, strict=True):
            if failed if cell.shown is None else not agrees(cell.shown, came):
                wrong.append(f"{page.name}:{cell.line} prints\n{came}")
    return wrong


def _outputs(jobs: Sequence[tuple[Path, Path]]) -> list[list[tuple[str, bool]]]:
    """Returns what each block of each page printed, and whether it failed, by a process that forks for each page."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker"],
        input=json.dumps([[str(page.resolve()), str(folder)] for page, folder in jobs]),
        env={**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


# -- in the process that runs them


def _work() -> None:
    import opwright  # noqa: F401 - once for all pages

    results = []
    for page, folder in json.load(sys.stdin):
        with tempfile.TemporaryFile("w+") as file:
            if (child := os.fork()) == 0:
                os.chdir(folder)
                json.dump(_run_page(Path(page)), file)
                file.flush()
                os._exit(0)
            os.waitpid(child, 0)
            file.seek(0)
            results.append(json.load(file))
    json.dump(results, sys.stdout)


def _run_page(page: Path) -> list[tuple[str, bool]]:
    sys.path[0] = ""  # as in a Python that was started in the folder
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for cell in read_cells(page.read_text(encoding="utf-8")):
        if cell.file is not None:
            cell.write(Path())
            outputs.append(("", False))
        elif cell.language == "sh":
            command = ["sh", "-c", cell.text]
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            outputs.append((ran.stdout, ran.returncode != 0))
        elif cell.language == "python":
            outputs.append(_run_python(cell.text, names))
        else:
            outputs.append(("", False))
    return outputs


def _run_python(text: str, names: dict[str, Any]) -> tuple[str, bool]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(text, "<stdin>", "exec"), names)
        except Exception:
            traceback.print_exc()
            return printed.getvalue(), True
    return printed.getvalue(), False


def _write_outputs(pages: Sequence[Path]) -> None:
    """Puts the output that comes into pages that show another; pages with numbers go on in one folder."""
    with tempfile.TemporaryDirectory() as root:
        jobs = [(page, Path(root) / ("steps" if page.name[0].isdigit() else page.stem)) for page in pages]
        for _, folder in jobs:
            folder.mkdir(exist_ok=True)
        found = _outputs(jobs)
    for page, outputs in zip(pages, found, strict=True):
        text = page.read_text(encoding="utf-8")
        for cell, (came, _) in reversed(list(zip(read_cells(text), outputs, strict=True))):
            if cell.shown is not None and not agrees(cell.shown, came):
                text = text[: cell.output[0]] + came + text[cell.output[1] :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        _work()
    else:
        _write_outputs([Path(each) for each in sys.argv[1:]])
