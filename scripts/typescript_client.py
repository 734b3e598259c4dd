"""The TypeScript client for npm: its types are made from the OpenAPI document, its version is Runlore's.
`scripts/setup.sh typescript` puts the tools for it into .venv/typescript.

The same tree gives the same bytes: npm packs every file with one time.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from runlore import __version__

HERE = Path(__file__).resolve().parent.parent
SOURCES = HERE / "clients" / "typescript"
TOOLS = Path(sys.prefix) / "typescript" / "node_modules"


def pack(folder: Path, target: Path) -> Path:
    """The package in `target`, built in the empty folder."""
    from runlore.api.app import Api

    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    shutil.copy(HERE / "LICENSE", folder / "LICENSE")
    (folder / "node_modules").symlink_to(TOOLS)
    described = json.loads((folder / "package.json").read_text("utf-8"))
    described["version"] = __version__
    (folder / "package.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
    (folder / "openapi.json").write_bytes(Api().openapi)
    _run(folder, "openapi-typescript", "openapi.json", "--output", "src/schema.ts")
    _run(folder, "tsc", "--project", ".")
    target.mkdir(parents=True, exist_ok=True)
    packed = _run(folder, "npm", "pack", "--silent", "--pack-destination", str(target.resolve()))
    return target / packed.split()[-1]


def has_tools() -> bool:
    return (TOOLS / ".bin" / "tsc").exists()


def _run(folder: Path, *words: str) -> str:
    path = f"{TOOLS / '.bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout
