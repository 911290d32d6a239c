"""Write rendered files into a folder as a process of its own, which may be told to kill itself on the way.

    python regeneration_run.py FOLDER FILES.json [KILL_AT]

FILES.json maps paths to unsigned texts. With KILL_AT the process sends itself SIGKILL instead of its KILL_AT-th change
to the disk; if that is a new file, half of it is written. Without it the process prints how many changes it made and
a line for each difference it found.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path, PurePosixPath

from toolmason.model.checksum import add_checksum
from toolmason.model.rendered_file import RenderedFile
from toolmason.write import write
from toolmason.write.journal import Disk


class MortalDisk(Disk):
    """A disk that ends the process at the operation of number `last`, counted from 1; never if that is 0."""

    def __init__(self, last: int) -> None:
        self.count = 0
        self.last = last

    def make_directory(self, path: Path) -> None:
        self.step()
        super().make_directory(path)

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        if self.count + 1 == self.last:
            path.write_bytes(data[: len(data) // 2])
        self.step()
        super().create(path, data, mode)

    def back_up(self, path: Path, copy: Path) -> None:
        self.step()
        super().back_up(path, copy)

    def replace(self, path: Path, target: Path) -> None:
        self.step()
        super().replace(path, target)

    def remove(self, path: Path) -> None:
        self.step()
        super().remove(path)

    def remove_directory(self, path: Path) -> None:
        self.step()
        super().remove_directory(path)

    def sync(self, folder: Path) -> None:
        self.step()
        super().sync(folder)

    def step(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    texts = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    paths = {PurePosixPath(name): text for name, text in texts.items()}
    disk = MortalDisk(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    changes = write(
        (RenderedFile(path, add_checksum(path, text)) for path, text in paths.items()), Path(sys.argv[1]), disk=disk
    )
    found = "".join(f"{change.kind} {change.path}\n" for change in changes.all)
    sys.stdout.write(f"{disk.count}\n{found}")


if __name__ == "__main__":
    main()
