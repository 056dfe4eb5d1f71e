"""The build hook `opwright` of hatchling: [tool.hatch.build.hooks.opwright] switches it on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from opwright_codegen.build_plugins.project import ABI, HAS_LIMITED_API, Project

__all__ = ["OpwrightHook", "hatch_register_build_hook"]

_SPECIAL = re.compile(r"([\\*?\[\]! #])")


class OpwrightHook(BuildHookInterface[BuilderConfig]):
    """The hook: generates for every target, and compiles for wheels."""

    PLUGIN_NAME = "opwright"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bring the project up to date; say which files a wheel or a source distribution takes, and the wheel's tag."""
        project = Project(Path(self.root))
        is_wheel = self.target_name == "wheel"
        paths = [Path(os.path.normpath(folder / name)) for folder, name in project.generated(with_c=not is_wheel)]
        libraries = project.compile() if is_wheel else []
        if libraries:
            tag = self.build_config.builder.get_best_matching_tag()
            build_data["pure_python"] = False
            build_data["tag"] = f"{ABI}-abi3-{tag.rpartition('-')[2]}" if HAS_LIMITED_API else tag
        # What is named here goes in, even where version control, and hatchling with it, leaves generated files out.
        build_data["artifacts"] += [_pattern(path, self.root) for path in (*paths, *libraries)]
        self._leave_out([_pattern(folder / "native", self.root) for folder in project.folders])

    def _leave_out(self, patterns: list[str]) -> None:
        """Leave objects and C files out, of folders from which only what is named goes in."""
        config = self.build_config
        given = config.target_config.get("exclude", config.build_config.get("exclude", []))
        if isinstance(given, list):
            config.target_config["exclude"] = [*given, *patterns]


def _pattern(path: Path, root: str) -> str:
    """Return the pattern, as in .gitignore, that matches this file alone."""
    return "/" + _SPECIAL.sub(r"\\\1", Path(os.path.relpath(path, root)).as_posix())


@hookimpl
def hatch_register_build_hook() -> type[OpwrightHook]:
    """Return the hook, as hatchling asks for it."""
    return OpwrightHook
