"""The manners of the command line: terminals, pipes and colours, help, completion, what a misspelt word was to be."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path

import jsonschema
import pytest

from opwright_codegen import arguments
from opwright_codegen.about import doctor
from opwright_codegen.about.completion import SHELLS
from opwright_codegen.about.schema import SCHEMAS
from opwright_codegen.arguments import make_parser
from opwright_codegen.cli import main
from opwright_codegen.commands import config, runtime_process
from opwright_codegen.findings.writing import FORMATS

pytestmark = pytest.mark.once  # the runtime is not loaded

ROOT = Path(__file__).parents[2]
OPS = "- func: mine::twice(Tensor self) -> Tensor\n  meta: like(self)\n  dispatch:\n    CPU: xp.add(self, self)\n"
WRONG = "- func: mine::f(Tensr self) -> Tensor\n"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Several commands in one process: each begins with a line of its own.
PROGRAM = """
import os, sys
from opwright_codegen.cli import main
for columns, variables, words in eval(sys.argv[1]):
    os.environ.update(variables, COLUMNS=columns)
    print("##", flush=True)
    main(words)
    sys.stdout.flush()
    for name in variables:
        del os.environ[name]
"""


def on_a_terminal(folder: Path, *runs: tuple[str, dict[str, str], list[str]]) -> list[str]:
    """Return what commands write to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", PROGRAM, repr(runs)]
    running = subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment | {"TERM": "xterm-256color"}
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        said += part
    os.close(ours)
    assert running.wait() == 0, said
    return said.decode().replace("\r\n", "\n").split("##\n")[1:]


def test_terminals(tmp_path: Path) -> None:
    """Colours are for those that want them, tables are as wide as the window."""
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "wrong.yaml").write_text(WRONG)
    check, listed = ["check", "wrong.yaml"], ["list", "ops.yaml"]
    shown = on_a_terminal(
        tmp_path,
        ("80", {}, check),
        ("80", {"NO_COLOR": "1"}, check),
        ("80", {"TERM": "dumb"}, check),
        ("80", {}, listed),
        ("30", {}, listed),
        ("1", {"NO_COLOR": "1"}, listed),
    )
    coloured, plain, dumb, wide, narrow, none = shown
    assert "\x1b[1;31merror:" in coloured and ESCAPE.sub("", coloured) == plain == dumb
    assert plain.startswith("wrong.yaml:1:17: error: unknown type specifier 'Tensr' [unknown-type]\n")
    assert "\x1b" not in plain + dumb + none
    for text, columns in ((wide, 80), (narrow, 30), (none, 20)):
        lines = ESCAPE.sub("", text).splitlines()
        assert max(map(len, lines)) <= columns, lines
        assert "mine::twice" in lines[0 if columns < 60 else 2] and "xp.add(self," in text
    assert "operator" in wide.split("\n")[0]


def test_pipes_have_no_colours_but_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    forced, both = {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    for variables, expected in (({}, False), (forced, True), (both, False)):
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
                patch.delenv(name, raising=False)
            for name, value in variables.items():
                patch.setenv(name, value)
            assert main(["check", "wrong.yaml"]) == 1
            assert ("\x1b" in capsys.readouterr().err) == expected, variables


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "there is no command 'chek': did you mean 'check'?"),
        (["check", "--adivce"], "unrecognized arguments: --adivce (did you mean --advice?)"),
        (["check", "--format", "jsn"], "argument --format: there is no 'jsn': did you mean 'json'?"),
        (["completion", "nushell"], "argument SHELL: there is no 'nushell': there are bash, zsh, fish"),
        (["import", "troch"], "argument SOURCE: there is no 'troch': did you mean 'torch'?"),
        (["lint", "--ignore", "missing-docs", "x.yaml"], "has the code 'missing-docs': did you mean 'missing-doc'?"),
        (["generate", "--watch", "--check", "x.yaml"], "leave --format, --check, --diff and --dry-run out"),
    ],
)
def test_misspelt_words(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(words)
    except SystemExit as leaving:
        status = leaving.code
    assert status == 2 and said in capsys.readouterr().err


def test_words_of_the_parser_are_those_of_the_commands() -> None:
    assert arguments._SHELLS == SHELLS and tuple(SCHEMAS) == arguments._FILES and arguments._FORMATS == FORMATS


def test_hostile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "good.yaml").write_text(OPS)
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)))
    (tmp_path / "long.yaml").write_text("- func: " + "x" * 300_000)
    for ours, other in (("a", "b"), ("b", "a")):
        (tmp_path / ours).symlink_to(other)
    for file in ("binary.yaml", "long.yaml", "a", "empty", "nowhere.yaml", os.devnull, ""):
        for words in (["check"], ["lint"], ["list"], ["fmt", "--check"], ["show", "f"], ["breaking", "good.yaml"]):
            status = main([*words, file])
            said = capsys.readouterr().err
            ends = words[0] == "breaking" and file in ("", "empty")  # which are folders
            assert (status in (1, 2) or ends) and "an error of its own" not in said, (words, file, said)


STREAMS = """
opwright() { "$PYTHON" -c 'from opwright_codegen.entry import main; raise SystemExit(main())' "$@"; echo "-- $?" >&2; }
opwright explain | head -1
opwright explain unknown-type >&-
opwright explain unknown-type >/dev/full
opwright fmt - <&-
export LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0
opwright explain unknown-type
opwright fmt - < good.yaml | cmp - good.yaml
"""


def test_hostile_streams(tmp_path: Path) -> None:
    """Pipes that are closed, discs that are full, terminals that have no more than ASCII."""
    (tmp_path / "good.yaml").write_text(OPS.replace("  meta", "  doc: Return … and é.\n  meta"), encoding="utf-8")
    environment = os.environ | {"PYTHON": sys.executable}
    ran = subprocess.run(["bash", "-c", STREAMS], cwd=tmp_path, env=environment, capture_output=True, text=True)
    for word in ("Traceback", "an error of its own", "Exception ignored"):
        assert word not in ran.stderr, ran.stderr
    first, *others = re.findall(r"-- (\d+)", ran.stderr)
    assert others == ["0", "2", "1", "0", "0"] and ran.returncode == 0, ran.stderr
    assert first in ("0", "2")  # whoever is faster


def test_nothing_said_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: opwright") and "completion" in shown


def test_the_page_names_each_command_and_option() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    commands = next(each.choices for each in make_parser()._actions if isinstance(each.choices, dict))
    left_out = ("--help", "--no-strict-kernels")
    for name, parser in commands.items():
        assert f"`opwright {name}" in page, name
        options = [word for each in parser._actions for word in each.option_strings if word.startswith("--")]
        assert [word for word in options if word not in left_out and f"`{word}" not in page] == [], name
    assert set(re.findall(r"entry: opwright (\w+)", hooks)) <= set(commands)


def test_completion_has_all_commands_and_their_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """(The options of the gate, which the runtime has, are a stand-in's.)"""
    told = '[[["-o", "--output"], "write [it] there", "FILE", []], [["--colour"], "", "WORD", ["red"]]]'
    monkeypatch.setattr(runtime_process, "run_in_runtime", lambda *_, **__: told)
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        shown = capsys.readouterr().out
        for word in ("generate", "completion", "advice", "sarif", "colour", "red"):
            assert word in shown, (shell, word)
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=shown, text=True, check=True)


def by_bash(program: str, lines: Iterable[str]) -> list[str]:
    for line in lines:
        words = line.split()
        program += f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _opwright; echo "${{COMPREPLY[@]}}"\n'
    return subprocess.run(["bash", "--norc"], input=program, text=True, stdout=-1, check=True).stdout.splitlines()


def by_fish(program: str, lines: Iterable[str]) -> list[str]:
    Path("it.fish").write_text("source\n" + "".join(f"echo (complete -C '{line}')\n" for line in lines))
    command = ["fish", "-N", "it.fish"]
    shown = subprocess.run(command, input=program, text=True, stdout=-1, check=True).stdout.splitlines()
    return [line.partition("\t")[0] for line in shown]


ZSH = """
PROMPT=; unsetopt zle_bracketed_paste
autoload -Uz compinit; fpath=($PWD $fpath); compinit -u -D; bindkey '^I' complete-word
told() { print -r -- "<<${BUFFER% }>>"; BUFFER= }; zle -N told; bindkey '^X' told
print ready''.
"""


def by_zsh(program: str, lines: Iterable[str]) -> list[str]:
    """(It completes for people alone: each line is typed, with a tab, and a key that shows what has become of it.)"""
    Path("_opwright").write_text(program)
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "dumb"}
    running = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    said = ""
    for typed, last in ((ZSH, "ready."), ("".join(f"{line}\t\x18" for line in [*lines, "last"]), "<<last>>")):
        os.write(ours, typed.encode())
        while last not in said:
            said += os.read(ours, 65536).decode()
    running.kill()
    running.wait()
    os.close(ours)
    return [line.rpartition(" ")[2] for line in re.findall("<<(.*)>>", said.rpartition("ready.")[2])[:-1]]


@pytest.mark.parametrize("complete", [by_bash, by_zsh, by_fish])
def test_what_shells_complete(
    complete: Callable[[str, Iterable[str]], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shell = complete.__name__.removeprefix("by_")
    if shutil.which(shell) is None:
        pytest.skip(f"needs another shell: {shell}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zero.cpp").touch()
    assert main(["completion", shell]) == 0
    asked = {
        "che": "check", "check --adv": "--advice", "check --format s": "sarif", "completion z": "zsh", "--he": "--help",
        "gate --write": "--write-baseline", "import to": "torch", "import cpp --a": "--as", "import cpp z": "zero.cpp",
        "check z": "zero.cpp",
    }  # fmt: skip
    assert complete(capsys.readouterr().out, [f"opwright {each}" for each in asked]) == list(asked.values())


def test_schemas_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is one, and has the keys of its reader."""
    assert main(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SCHEMAS)
    read = {}
    for name in set(SCHEMAS) - {"keys"}:  # a table in Markdown
        assert main(["schema", name]) == 0
        read[name] = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator.check_schema(read[name])
    settings = read["settings"]["properties"]
    assert set(settings) == set(config.Config.__match_args__) - {"root", "path"}
    import tomllib

    import yaml

    for path in (*ROOT.glob("examples/**/pyproject.toml"), ROOT / "pyproject.toml"):
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("opwright")
        if table is not None:
            jsonschema.validate(table, read["settings"])
    entries = [
        entry
        for path in (*ROOT.glob("examples/**/derivatives.yaml"), *ROOT.glob("tests/codegen/cases/*/derivatives.yaml"))
        for entry in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    ]
    jsonschema.validate(entries, read["derivatives"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"self": "grad"}], read["derivatives"])


def test_doctor_says_what_is_missing_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "run_in_runtime", lambda *_, **__: '["python", "OPWRIGHT_PURE=1 is set"]')
    monkeypatch.setenv("CC", "no-such-compiler")
    assert main(["doctor"]) == 0
    lines = {line[:14].strip(): line[14:] for line in capsys.readouterr().out.splitlines()}
    assert re.match(r" *yes  \d", lines["numpy"])
    assert "no   OPWRIGHT_PURE=1 is set. Python runs, slower" in lines["compiled core"]
    assert "no   CC names 'no-such-compiler', which is not installed" in lines["C compiler"]
    monkeypatch.setattr(doctor, "version", missing)
    assert main(["doctor", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["well"]
    assert {"name": "numpy", "found": False, "says": "not installed", "needed": True} in found["found"]


def missing(name: str) -> str:
    raise doctor.PackageNotFoundError(name)


def test_watching_generates_after_each_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error is shown, and the next change mends it. (What watches is a stand-in.)"""
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "mine_ops"\n')
    monkeypatch.chdir(tmp_path)
    texts = [WRONG, OPS.replace("twice", "thrice")]
    watched = []

    def changes(*folders: Path, watch_filter, **options: object):  # type: ignore[no-untyped-def]
        watched.append(folders)
        for name, wanted in (("ops.yaml", True), ("mine_ops/ops/ops.py", False), ("ops.yaml~", False)):
            assert watch_filter(1, str(tmp_path / name)) == wanted
        if texts:
            yield set()  # a while in which nothing happens
            (tmp_path / "ops.yaml").write_text(texts.pop(0))
            yield {(2, str(tmp_path / "ops.yaml"))}

    monkeypatch.setitem(sys.modules, "watchfiles", types.SimpleNamespace(watch=changes))  # type: ignore[arg-type]
    assert main(["generate", "--watch"]) == 0
    said = capsys.readouterr()
    assert said.out.count("created") == 1 and said.out.count("watching") == 3
    assert said.err.startswith("ops.yaml:1:17: error: unknown type specifier 'Tensr'")
    assert "thrice" in (tmp_path / "mine_ops" / "ops" / "ops.py").read_text()
    assert all(tmp_path.resolve() in folders for folders in watched)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["generate", "--watch"]) == 2
    assert "--watch needs watchfiles, which is not installed: pip install watchfiles" in capsys.readouterr().err
