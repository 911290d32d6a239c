"""Write the files of a release that are not for the index: locks that include the wheels, and the hashes of all files.

Run by `nox -s sbom`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

DIRECTORY: Final = Path(__file__).parent
EXTRAS: Final = {"toolkit": "toolkit.txt", "workbench": "server.txt"}
"""Extra -> lock with what it needs; that of `workbench` also has what HTTP needs."""


def main(target: Path, wheel: Path, sdist: Path, toolkit: Path, *others: Path) -> None:
    """Write `toolmason-EXTRA.txt` for each extra, and SHA256SUMS of these, of the SBOM, and of the built files."""
    version = wheel.name.split("-")[1]
    hashes = "".join(f" \\\n    --hash=sha256:{sha256(path)}" for path in (wheel, sdist))
    for extra, lock in EXTRAS.items():
        text = (DIRECTORY / lock).read_text(encoding="utf-8")
        text += f"toolmason[{extra}]=={version}{hashes}\n"
        text += f"toolmason-toolkit=={version} \\\n    --hash=sha256:{sha256(toolkit)}\n"
        (target / f"toolmason-{extra}.txt").write_text(text, encoding="utf-8", newline="\n")
    hashed = [wheel, sdist, toolkit, *others, *sorted(target.iterdir())]
    (target / "SHA256SUMS").write_text(sums(hashed), encoding="utf-8", newline="\n")


def sums(paths: Sequence[Path]) -> str:
    """Return the lines that `sha256sum --check` reads, by file name."""
    return "".join(f"{sha256(path)}  {path.name}\n" for path in paths if path.name != "SHA256SUMS")


def sha256(path: Path) -> str:
    """Return the hash of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
