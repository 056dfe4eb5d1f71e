"""Files in place: whole, ours alone, and only when they changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import seeds

from opwright_codegen.errors import SchemaError
from opwright_codegen.output.write import MANIFEST, compare, depfile, manifest_names

INPUTS = {"ops.yaml": "0" * 64}
FILES = {"ops.py": "one\n", "native/ops.h": "two\n"}


def put(folder: Path, files: dict[str, str], **options: bool) -> None:
    compare(folder, files, INPUTS, **options).apply()


def tree(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_files_and_their_manifest(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b", FILES)
    found = tree(tmp_path / "a" / "b")
    manifest = json.loads(found.pop(MANIFEST))
    assert found == FILES
    assert manifest["inputs"] == INPUTS
    assert manifest["outputs"] == ["native/ops.h", "ops.py"]


def test_what_is_the_same_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    for name in (*FILES, MANIFEST):
        os.utime(tmp_path / name, ns=(1, 1))
    changes = compare(tmp_path, FILES, INPUTS)
    assert not changes
    changes.apply()
    assert {(tmp_path / name).stat().st_mtime_ns for name in (*FILES, MANIFEST)} == {1}
    put(tmp_path, {**FILES, "ops.py": "new\n"})
    assert (tmp_path / "native/ops.h").stat().st_mtime_ns == 1
    assert (tmp_path / "ops.py").read_text() == "new\n"


def test_a_module_that_changes_within_a_second_is_the_new_one(tmp_path: Path) -> None:
    """Python tells bytecode that is old by the second and the size."""
    folder = tmp_path / "again"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for value in (1, 2):
        compare(folder, {"a.py": f"value = {value}\n"}, {}).apply()
        os.utime(folder / "a.py", (1e9, 1e9))
        code = "import a; print(a.value)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{value}\n"


def test_line_ends_and_encoding(tmp_path: Path) -> None:
    put(tmp_path, {"a.py": "é\n"})
    assert (tmp_path / "a.py").read_bytes() == b"\xc3\xa9\n"


def test_files_of_gone_operators_go_and_others_stay(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    (tmp_path / "mine.py").write_text("mine")
    put(tmp_path, {"ops.py": "one\n"})
    assert set(tree(tmp_path)) == {"ops.py", "mine.py", MANIFEST}
    assert not (tmp_path / "native").exists()


def test_a_part_leaves_the_rest(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    put(tmp_path, {"ops.py": "new\n"}, partial=True)
    assert tree(tmp_path)["native/ops.h"] == "two\n"
    assert set(manifest_names(tmp_path)) == set(FILES)
    assert not compare(tmp_path, {**FILES, "ops.py": "new\n"}, INPUTS)


def test_a_file_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text("mine")
    with pytest.raises(SchemaError, match="was not generated"):
        compare(tmp_path, FILES, INPUTS)
    assert tree(tmp_path) == {"ops.py": "mine"}
    put(tmp_path, FILES, force=True)
    assert tree(tmp_path)["ops.py"] == "one\n"


def test_the_same_file_that_is_not_ours_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text("one\n")
    put(tmp_path, FILES)
    assert set(manifest_names(tmp_path)) == set(FILES)


def test_a_manifest_of_an_earlier_version(tmp_path: Path) -> None:
    """It has a hash beside each name."""
    (tmp_path / "gone.py").write_text("old")
    (tmp_path / MANIFEST).write_text(json.dumps({"outputs": {"ops.py": "0", "gone.py": "0"}}))
    put(tmp_path, FILES)
    assert set(tree(tmp_path)) == {*FILES, MANIFEST}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"outputs": ["../../x"]}', '{"outputs": ["/x"]}', '{"outputs": [1]}', '{"outputs": "x"}']
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(SchemaError, match=r"manifest\.json is not a manifest of ours"):
        compare(tmp_path, FILES, INPUTS)
    put(tmp_path, FILES, force=True)
    assert set(manifest_names(tmp_path)) == set(FILES)


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a/../../x.py", "", "a\\b.py", MANIFEST])
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(SchemaError, match="is not a name"):
        compare(tmp_path, {name: ""}, INPUTS)


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "ops.py").mkdir()
    with pytest.raises(SchemaError, match="is a folder"):
        compare(tmp_path, FILES, INPUTS)


def test_diff(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    lines = list(compare(tmp_path, {"ops.py": "new\n", "more.py": "x\n"}, INPUTS).diff())
    path = tmp_path.as_posix()
    assert "\n".join(lines).endswith(f"--- {path}/ops.py\n+++ {path}/ops.py\n@@ -1 +1 @@\n-one\n+new")
    assert f"--- /dev/null\n+++ {path}/more.py\n@@ -0,0 +1 @@\n+x" in "\n".join(lines)
    assert f"--- {path}/native/ops.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-two" in "\n".join(lines)


def test_depfile() -> None:
    text = depfile([Path("out/ops.py"), Path("out/b c.py")], [Path("a$b.yaml"), Path("d#e.yaml")])
    assert text == "out/ops.py out/b\\ c.py: \\\n  a$$b.yaml \\\n  d\\#e.yaml\n"


WRITER = """
import sys
from pathlib import Path
from opwright_codegen.output.write import compare
folder, fill, count, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), 200_000
files = {f"file{index}.py": (fill * size + "\\n") for index in range(count)}
print("ready", flush=True)
compare(folder, files, {"ops.yaml": fill}).apply()
"""


def start_writer(folder: Path, fill: str, count: int = 20) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), fill, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def assert_whole(folder: Path) -> None:
    for name, text in tree(folder).items():
        if name.endswith(".py"):
            assert len(set(text)) == 2 and len(text) == 200_001


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed so here")
def test_a_killed_run_leaves_whole_files_and_the_next_completes_it(tmp_path: Path) -> None:
    chance = seeds.generator(0)
    for turn in range(6):
        writer = start_writer(tmp_path, "abcdefgh"[turn], 20 + turn)
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            writer.wait(chance.uniform(0, 0.03))
        except subprocess.TimeoutExpired:
            writer.kill()
        writer.wait()
        writer.stdout.close()
        assert_whole(tmp_path)
    last = start_writer(tmp_path, "z", 3)
    assert last.communicate()[0] == "ready\n"
    assert last.returncode == 0
    assert set(tree(tmp_path)) == {"file0.py", "file1.py", "file2.py", MANIFEST}


def test_two_runs_at_once(tmp_path: Path) -> None:
    for _ in range(2):
        writers = [start_writer(tmp_path, "x"), start_writer(tmp_path, "x"), start_writer(tmp_path, "y")]
        for writer in writers:
            writer.communicate()
            assert writer.returncode == 0
        assert_whole(tmp_path)
    assert not list(tmp_path.glob(".opwright-*"))
