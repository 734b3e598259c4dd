"""Compiles the inner loops of the ranking index, where a C compiler is at hand.

Without one, or where it fails, the build goes on and the wheel is a pure one: numpy does the same work.
`hatchling build --no-hooks` makes a pure one anyway. `CC` names another compiler.
"""

import os
import shlex
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

FLAGS = ("-std=c99", "-O3", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden", "-s")
# What would name the build and not the source.
REPRODUCIBLE = ("-Wl,--build-id=none",) if sys.platform == "linux" else ()


class KernelHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before each wheel, an editable one too."""
        source = Path(self.root, "src/runlore/recall/kernel.c")
        # `runlore.recall.kernel` looks for this very name.
        name = blake2b(source.read_bytes(), digest_size=8).hexdigest()
        library = source.with_name(f"kernel-{name}.library")
        for left in set(source.parent.glob("kernel-*.library")) - {library}:
            left.unlink()
        if said := compile_kernel(source, library):
            self.app.display_warning(f"the ranking index will work without its compiled kernel: {said}")
        elif version != "editable":
            build_data["pure_python"] = False
            # `linux_x86_64` would say nothing of the C library that it was built with.
            platform = next(tag for tag in platform_tags() if not tag.startswith("linux_"))
            build_data["tag"] = f"py3-none-{platform}"
            build_data["artifacts"].append(f"/{library.relative_to(self.root)}")


def compiler() -> list[str]:
    """The command of the C compiler; nothing where there is none."""
    words = shlex.split(os.environ.get("CC", "cc"))
    return words if words and shutil.which(words[0]) else []


def compile_kernel(source: Path, library: Path) -> str:
    """Why there is no library, or nothing."""
    if not compiler():
        return "no C compiler was found"
    # Put in place at once: a process may have the one that is there loaded.
    made = library.with_suffix(".library.new")
    # Named from where the source lies, so that no path gets into the library.
    words = [*compiler(), *FLAGS, *REPRODUCIBLE, "-o", str(made), source.name]
    done = subprocess.run(words, cwd=source.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        made.unlink(missing_ok=True)
        return f"{shlex.join(compiler())} failed: {done.stderr.strip()[-500:]}"
    made.replace(library)
    return ""
