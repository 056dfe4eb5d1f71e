"""What is no plain file, in the places that the generator writes to: nothing is replaced, removed or waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from python_copies import run_python

OPERATORS = """
- func: special::f(Tensor x) -> Tensor
  meta: pointwise(x)
  dispatch:
    CPU, CUDA: xp.sin(x)
"""
pytestmark = [
    pytest.mark.once,  # files in, messages out
    pytest.mark.skipif(os.name == "nt", reason="other special files there"),
]


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _outside(path: Path) -> Path:
    outside = Path(os.environ["OUTSIDE"])
    outside.write_text("outside")
    return outside


KINDS: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/full"),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link outside": lambda path: path.symlink_to(_outside(path)),
    "loop": lambda path: path.symlink_to(path.name),
}
_COMMAND = "import sys; from opwright_codegen.entry import main; sys.exit(main())"
PLACES = ("out/ops/ops.py", "out/manifest.json", "out/__pycache__/opwright.stamp", "depfile", "out")


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a copy of a process; what waits for a pipe is killed."""
    return run_python("-c", f"import signal; signal.alarm(120); {_COMMAND}", *words, cwd=folder)


def _generate(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, "generate", "ops.yaml", "-o", "out", *more)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OUTSIDE", str(tmp_path / "outside"))
    made = tmp_path / "project"
    made.mkdir()
    (made / "ops.yaml").write_text(OPERATORS)
    return made


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_stays(folder: Path, kind: str, place: str) -> None:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path)
    before = path.lstat()
    done = _generate(folder, *(["--depfile", "depfile"] if place == "depfile" else []))
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert "an error of its own" not in done.stderr
    if (kind, place) != ("folder", "out") and not place.endswith(".stamp"):
        assert done.returncode != 0
        assert place.partition("/")[0] in done.stderr
    after = path.lstat()
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    outside = folder.parent / "outside"
    assert not outside.exists() or outside.read_text() == "outside"


def test_a_device_for_a_depfile_stays(folder: Path) -> None:
    done = _generate(folder, "--depfile", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full is a device" in done.stderr
    assert Path("/dev/full").is_char_device()


def test_nothing_is_removed_by_way_of_a_link(folder: Path) -> None:
    assert _generate(folder).returncode == 0
    victim = folder / "elsewhere"
    victim.mkdir()
    (victim / "mine.py").write_text("mine")
    (folder / "out" / "sub").symlink_to(victim)
    manifest = folder / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"ops/ops.py"', '"sub/mine.py", "ops/ops.py"'))
    _generate(folder, "--force")
    assert (victim / "mine.py").read_text() == "mine"


def test_files_of_users_that_look_temporary_stay(folder: Path) -> None:
    assert _generate(folder).returncode == 0
    ours = folder / "out" / "ops" / ".opwright-123-ops.py.tmp"
    kept = [folder / "out" / name for name in (".opwright-notes", ".opwright-1-mine.py.tmp", ".opwright-x")]
    for path in (ours, *kept):
        path.write_text("text")
    (folder / "ops.yaml").write_text(OPERATORS.replace("sin", "cos"))
    assert _generate(folder).returncode == 0
    assert not ours.exists()
    assert [path.read_text() for path in kept] == ["text"] * 3


@pytest.mark.parametrize("closed", ["stdout", "stderr", "stdin"])
def test_closed_streams_are_no_error(folder: Path, closed: str) -> None:
    number = {"stdin": 0, "stdout": 1, "stderr": 2}[closed]
    shell = f'exec "$0" -c "$1" generate ops.yaml -o out {number}{"<" if closed == "stdin" else ">"}&-'
    done = subprocess.run(["sh", "-c", shell, sys.executable, _COMMAND], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "ops" / "ops.py").exists()


@pytest.mark.parametrize("name", ["my-package", "a..b", "class", "nosuchpkg", "3x", "a b", "é", ".", "os"])
def test_a_package_to_use_is_there_and_generated(folder: Path, name: str) -> None:
    (folder / "pyproject.toml").write_text(
        f'[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "out"\nuses = ["{name}"]\n', encoding="utf-8"
    )
    done = _generate(folder)
    assert done.returncode in (1, 2), done.stdout
    assert name in done.stderr
    assert "Traceback" not in done.stderr


# -- full disks, other encodings, files that cannot be read, interrupts

_FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
"""


@pytest.mark.parametrize("size", [0, 100, 1000])
def test_a_full_disk_is_told_of_with_the_file(folder: Path, size: int) -> None:
    command = _FULL.replace("(LIMIT, LIMIT)", str((size, size))) + _COMMAND
    done = subprocess.run(
        [sys.executable, "-B", "-c", command, "generate", "ops.yaml", "-o", "out"],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("opwright: out/") and done.stderr.endswith(": File too large\n"), done.stderr
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_full_device_for_a_stream(folder: Path, stream: str, unbuffered: str) -> None:
    text = OPERATORS if stream == "stdout" else "- func: f(\n"
    (folder / "ops.yaml").write_text(text)
    with open("/dev/full", "w") as full:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full}
        command = [sys.executable, "-c", _COMMAND, "generate", "ops.yaml", "-o", "out"]
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, cwd=folder, text=True, timeout=120, env=environment, **streams)  # type: ignore[call-overload]
    assert done.returncode in (1, 2)
    assert "Traceback" not in (done.stdout or "") + (done.stderr or "")
    if stream == "stdout":
        assert "No space left" in done.stderr


@pytest.mark.parametrize("text", [OPERATORS + "  doc: café ✓ 日本\n", "- func: é✓::f(Tensor x) -> Tensor\n"])
def test_text_that_the_locale_has_not(folder: Path, text: str) -> None:
    (folder / "é.yaml").write_bytes(text.encode())
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", _COMMAND, "generate", "é.yaml", "-o", "out"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == (0 if "special" in text else 1), done.stderr
    assert "Traceback" not in done.stderr and "an error of its own" not in done.stderr
    if done.returncode:
        assert "\\xe9" in done.stderr
    else:
        assert "café ✓ 日本" in (folder / "out" / "ops" / "schema.pyi").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["folder", b"\xff\xfe\x00", b"caf\xe9 = 1"])
@pytest.mark.parametrize("name", ["ops.yaml", "tags.yaml", "derivatives.yaml", "own.py", "pyproject.toml"])
def test_files_that_are_no_text(folder: Path, name: str, content: str | bytes) -> None:
    files = {
        "tags.yaml": "- tag: quick\n  desc: quick\n", "derivatives.yaml": "- name: special::f(Tensor x) -> Tensor\n",
        "own.py": "def g(x):\n    return x\n", "ops.yaml": OPERATORS.replace("xp.sin(x)", "g"),
        "pyproject.toml": '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "out"\ntags = "tags.yaml"\n'
        'derivatives = "derivatives.yaml"\nkernels = ["own"]\n',
    }  # fmt: skip
    for file, text in files.items():
        (folder / file).write_text(text)
    (folder / name).unlink()
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    else:
        (folder / name).mkdir()
    done = _run(folder, "generate", "--config", "pyproject.toml")
    assert done.returncode in (1, 2)
    assert name in done.stderr or name.partition(".")[0] in done.stderr
    assert "Traceback" not in done.stderr and "an error of its own" not in done.stderr


@pytest.mark.parametrize(
    "module", ["opwright_codegen.cli", "yaml", "jinja2", "opwright_codegen.read.files", "argparse"]
)
def test_an_interrupt_while_modules_are_imported(folder: Path, module: str) -> None:
    interrupt = f"""
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
"""
    command = [sys.executable, "-c", interrupt + _COMMAND, "generate", "ops.yaml", "-o", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert not (folder / "out").exists()
