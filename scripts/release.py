"""What a release is made of, in dist/: wheels, an sdist, a list of what Runlore needs (CycloneDX), and where
npm could be had the TypeScript client. One wheel is for any machine; with a C compiler there is one more for
machines like this, which pip prefers: it has the compiled kernel.

The same tree gives the same bytes, wherever and whenever it is built: times come from the last commit.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path

from scripts.typescript_client import has_tools, pack

HERE = Path(__file__).resolve().parent.parent
BILL = "runlore.cdx.json"
PIN = re.compile(
    r"^([\w.-]+)==([\w.+!-]+)(?: ; ([^\\\n]+?))?(?: \\)?$((?:\n +--hash=sha256:[0-9a-f]{64}.*$)*)", re.M
)
HASH = re.compile(r"sha256:([0-9a-f]{64})")


def main() -> None:
    """Make the files."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _commit_time()
    folder = HERE / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    build(HERE, folder, epoch)
    if has_tools():
        with tempfile.TemporaryDirectory(prefix="runlore-typescript-") as place:
            pack(Path(place), folder)
    else:
        print("runlore: NO TYPESCRIPT CLIENT: npm could not install its tools")
    for path in sorted(folder.iterdir()):
        print(path.relative_to(HERE))


def build(tree: Path, folder: Path, epoch: str) -> None:
    """Wheels and an sdist of a tree, by the pinned build backend, and what they need: nothing is fetched."""
    for kinds in (("--target", "wheel", "--target", "sdist"), ("--no-hooks", "--target", "wheel")):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *kinds],
            cwd=tree,
            env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    (sdist,) = folder.glob("*.tar.gz")
    bill = bill_of_materials(
        tree / "requirements/run.txt", sdist.name.removesuffix(".tar.gz").split("-")[1], int(epoch)
    )
    (folder / BILL).write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


def bill_of_materials(requirements: Path, version: str, epoch: int) -> dict[str, object]:
    """What the release needs to run, with the hashes that its files are installed by."""
    name, pinned = "runlore", requirements.read_text(encoding="utf-8")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {version} {pinned}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": {"type": "application", "name": name, "version": version, "bom-ref": name},
        },
        "components": [_component(*found) for found in PIN.findall(pinned)],
    }


def _component(name: str, version: str, marker: str, hashes: str) -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{version}"
    needed = [{"name": "runlore:marker", "value": marker}] if marker else []
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": purl,
        "bom-ref": purl,
        "properties": [
            *needed,
            *({"name": "runlore:file-sha256", "value": value} for value in HASH.findall(hashes)),
        ],
    }


def _commit_time() -> str:
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=HERE, check=True, capture_output=True, text=True
    )
    return told.stdout.strip()


if __name__ == "__main__":
    main()
