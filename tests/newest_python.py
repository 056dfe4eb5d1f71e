"""A program that tests the project with the Pythons of Debian's development suite: `newest_python.py RECORDS`.

It makes that suite's root in a temporary folder (debootstrap), installs a copy of the project there into an environment
of each Python, with the newest NumPy, and runs TESTS with the compiled core and in Python alone. Then it installs a
wheel of a new project there, with a kernel in C, which the Python that runs this program has built, and runs the
project's tests. Another environment gets `opwright-core` alone, and the wheels of `core_alone.py`. RECORDS is the
folder of the records. If the machine cannot do this, a line says why, and the program ends with 0. The suite has no
free-threaded Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from core_alone import PROGRAMS, wheels
from install_everywhere import ASKED, ROOT

PYTHONS = ("3.14", "3.15")
PACKAGES = [f"python{each}{part}" for each in PYTHONS for part in ("", "-venv", "-dev")]
PACKAGES += ["gcc", "libc6-dev", "make", "ca-certificates"]
TESTS = [
    *("tests/runtime/core", "tests/runtime/autograd", "tests/runtime/symbolic"),
    *("tests/conformance/test_fake_mode.py", "tests/conformance/test_fakes.py"),
    *("tests/compat", "tests/runtime/native/test_native_kernels.py", "tests/runtime/native/test_native_arguments.py"),
]
TOOLS = ["pytest>=8", "pytest-xdist", "hypothesis", "mpmath"]
NOT_SOURCES = (".*", "build", "dist", "__pycache__", "*.cpython-*.so", "*.egg-info")
# Where pip's settings are, and what its connections are trusted by: the same files serve inside.
SETTINGS = ["/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"]
SETTINGS += [str(Path.home() / each) for each in (".config/pip/pip.conf", ".pip/pip.conf")]
# In a mount namespace of its own: nothing stays mounted when the command ends, however it ends.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && cd "$0" && exec chroot "$0" "$@"'


class Suite:
    """The root of the suite in a folder, which commands run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failed: list[str] = []

    def problem(self) -> str:
        """Make it unless it exists; return why that cannot be done, or nothing."""
        if os.geteuid() != 0:
            return "only root can make the root of another system"
        if not is_done(["unshare", "--mount", "true"]):
            return "this machine lets nobody mount anything"
        if (self.folder / "usr/bin" / f"python{PYTHONS[-1]}").exists():
            return ""
        if shutil.which("debootstrap") is None:
            installs = [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "debootstrap"]]
            if shutil.which("apt-get") is None or not all(is_done(each) for each in installs):
                return "debootstrap is not installed, and apt-get cannot install it"
        made = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "sid", self.folder]
        return "" if is_done(made) else "debootstrap cannot make the suite: are Debian's packages reachable?"

    def copy_in(self) -> None:
        """Copy the project, the machine's settings for pip, and the wheel with its tests."""
        for each in map(Path, SETTINGS):
            if each.exists():
                inside = self.folder / each.relative_to("/")
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(each, inside)
        project = self.folder / "project"
        shutil.rmtree(project, ignore_errors=True)
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        shutil.rmtree(self.folder / "built", ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "opwright_codegen.cli", "new", "demo_ops"], cwd=folder, check=True)
            demo, built = Path(folder, "demo_ops"), self.folder / "built"
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
            subprocess.run([*pip, "--wheel-dir", built, demo], check=True)
            shutil.copytree(demo / "tests", built / "tests")
        alone = self.folder / "alone"
        shutil.rmtree(alone, ignore_errors=True)
        wheels(alone)
        subprocess.run([sys.executable, ROOT / "tests" / "compat" / "earlier.py", self.folder / "earlier"], check=True)
        (wheel,) = built.glob("*-abi3-*.whl")  # it holds the kernel in C
        print(f"built by Python {sys.version.split()[0]}: {wheel.name}", flush=True)

    def run(self, *command: str, **environment: str) -> None:
        """Run a command inside, in the project's folder."""
        entered = ["unshare", "--mount", "sh", "-c", ENTER, str(self.folder)]
        given = os.environ | {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(Path.home())} | environment
        if (self.folder / "earlier").exists():
            given["OPWRIGHT_EARLIER"] = "/earlier"
        subprocess.run([*entered, "env", "--chdir=/project", *command], check=True, env=given)

    def attempt(self, *command: str, **environment: str) -> None:
        """Run a command inside; keep a line of it if it fails, and go on."""
        try:
            self.run(*command, **environment)
        except subprocess.CalledProcessError as error:
            self.failed.append(f"{' '.join(command)} ended with {error.returncode} {environment or ''}".strip())

    def test(self, version: str, records: Path, workers: str) -> None:
        """Install the project for one Python, and run the tests in both modes, then those of the built wheel."""
        folder = f"/environments/{version}"
        python = f"{folder}/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--disable-pip-version-check"]
        pytest = [python, "-m", "pytest", "-p", "no:cacheprovider"]
        self.run(f"python{version}", "-m", "venv", "--clear", folder)
        self.run(*pip, "/project", *TOOLS)
        self.run(python, "-c", ASKED)
        records.mkdir(parents=True, exist_ok=True)
        for pure, name in (("", version), ("1", f"{version}-pure")):
            record = f"build/tests/python{name}.json"
            self.attempt(*pytest, "-n", workers, *TESTS, f"--record={record}", OPWRIGHT_PURE=pure)
            shutil.copyfile(self.folder / "project" / record, records / Path(record).name)
        self.run("sh", "-c", f"{' '.join(pip)} --no-deps /built/*.whl")
        self.attempt(*pytest, "--rootdir=/built", "/built/tests")
        self.test_the_core_alone(version)

    def test_the_core_alone(self, version: str) -> None:
        """Install the core and wheels of operators for one Python, and call them."""
        folder = f"/environments/{version}-alone"
        python = f"{folder}/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--disable-pip-version-check"]
        self.run(f"python{version}", "-m", "venv", "--clear", folder)
        self.run(*pip, "/project/runtime")
        self.run("sh", "-c", f"{' '.join(pip)} --no-index /alone/built/*.whl")
        for program, files in PROGRAMS:
            self.attempt(python, "-c", program, *(f"/project/{file.relative_to(ROOT)}" for file in files))


def is_done(command: list[str | Path] | list[str]) -> bool:
    """Run a command without showing what it says; return whether it succeeded."""
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def main() -> int:
    """Make the root, and test each Python."""
    parser = argparse.ArgumentParser(description="Test the project with the Pythons of Debian's development suite.")
    parser.add_argument("records", type=Path, help="the folder for the records of the runs")
    parser.add_argument("--root", type=Path, help="the root of the suite: made there unless it exists, and kept")
    parser.add_argument("--workers", default="auto", help="how many processes run tests: an option of pytest-xdist")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(given.root or Path(folder, "root"))
        if problem := suite.problem():
            print(f"Python {' and '.join(PYTHONS)} are not tested: {problem}")
            return 0
        suite.copy_in()
        for version in PYTHONS:
            try:
                suite.test(version, given.records, given.workers)
            except subprocess.CalledProcessError as error:
                suite.failed.append(f"Python {version}: {error}")
    print(*suite.failed, sep="\n")
    return int(bool(suite.failed))


if __name__ == "__main__":
    sys.exit(main())
