"""Python programs, run in copies of one process that has imported Opwright and the command line already.

What a program prints, how it ends and what it finds on its path is as in a new process, which takes ten times as long:
most of that is imports. A test whose subject is what a process loads starts one itself.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

__all__ = ["run_python"]

_OPERATOR = """
- func: copies::f(Tensor x) -> Tensor
  meta: pointwise(x)
  dispatch:
    CPU, CUDA: xp.sin(x)
"""
_AT_FIRST = dict(os.environ)  # before any test changes it


def run_python(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python WORDS` (`-c CODE`, `-m MODULE` or a file, and its arguments; `-P` before them) in a folder; return
    how it ended, and what it printed."""
    shown, environment = [str(word) for word in words], dict(os.environ if env is None else env)
    if not sys.platform.startswith("linux") or _imports_otherwise(environment):
        command = [sys.executable, *shown]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    server = _server()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)]
        _send(server.stdin, (shown, str(cwd), environment, files))
        status = pickle.load(server.stdout)
        texts = [_text(file) for file in (out, err)]
    return subprocess.CompletedProcess([sys.executable, *shown], status, *texts)


def _imports_otherwise(environment: Mapping[str, str]) -> bool:
    """Whether a variable says something else of imports than it does to the process that copies are made of."""
    names = {name for name in (*environment, *_AT_FIRST) if name.startswith(("OPWRIGHT_", "PYTHON"))} - {"PYTHONPATH"}
    return any(environment.get(name) != _AT_FIRST.get(name) for name in names)


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())


@cache
def _server() -> Any:
    """Start the process that copies are made of."""
    command = [sys.executable, __file__]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_AT_FIRST)
    atexit.register(_end, server)
    return server


def _end(server: Any) -> None:
    server.stdin.close()
    server.stdout.close()
    server.kill()
    server.wait()


def _send(stream: BinaryIO, value: object) -> None:
    pickle.dump(value, stream)
    stream.flush()


# -- in the server


def _serve() -> None:
    import gc

    import opwright
    import opwright_codegen.cli
    import opwright_codegen.commands.generate

    opwright.ones(2) + 1
    _generate_once(opwright_codegen.cli.main)
    gc.freeze()
    own = [os.path.dirname(os.path.abspath(__file__)), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    sys.path[:] = [each for each in sys.path if each not in own]
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    while True:
        try:
            words, folder, environment, files = pickle.load(requests)
        except EOFError:
            return
        pid = os.fork()
        if not pid:
            os.dup2(nowhere, 0)
            for number, name in enumerate(files, 1):
                os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
            requests.close()
            answers.close()
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            _end_as_python(words)
        _send(answers, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _generate_once(command: Callable[[list[str]], int]) -> None:
    """Load what the first run of the generator loads: grammars, templates, rules."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        Path("ops.yaml").write_text(_OPERATOR)
        assert command(["generate", "ops.yaml", "-o", "out"]) == 0
        os.chdir(before)


def _end_as_python(words: list[str]) -> NoReturn:
    """Run a program and end as after any program, but for the modules: to free them takes longer than many programs."""
    import atexit  # here, since a program of `-c` takes the names of this module away
    import os
    import sys
    import threading

    status = 0
    try:
        _run(words)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except Exception:
        status = 1
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = 120
    os._exit(status)


def _run(words: list[str]) -> None:
    import runpy

    is_safe = words[0] == "-P"
    first, *rest = words[is_safe:]
    is_file = first not in ("-c", "-m")
    sys.argv = [first, *rest] if is_file else [first, *rest[1:]]
    here = os.path.dirname(os.path.abspath(first)) if is_file else "" if first == "-c" else os.getcwd()
    paths = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.path[:0] = paths if is_safe else [here, *paths]
    if is_file:
        runpy.run_path(first, run_name="__main__")
    elif first == "-m":
        sys.modules.pop(rest[0], None)  # runpy warns of what is imported already
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"].__dict__
        for name in [name for name in main if not name.startswith("__")]:
            del main[name]
        exec(compile(rest[0], "<string>", "exec"), main)


if __name__ == "__main__":
    _serve()
