"""Reviews in a store, for tests of the surfaces on which a person decides them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench_handlers.editing.reviews.store import ProposedFile, Review, ReviewStore
from workbench_handlers.workspace.roots import Located, Root


@dataclass(frozen=True)
class Desk:
    """A project with files, and the store of the reviews of its changes."""

    project: Path
    state: Path

    @property
    def store(self) -> ReviewStore:
        return ReviewStore(self.state / "reviews")

    def propose(
        self, name: str, original: bytes | None, proposed: bytes, *, notes: tuple[str, ...] = (), client: str = "tester"
    ) -> Review:
        """Write a file, and store a review of its change; None leaves the file missing."""
        parts = tuple(name.split("/"))
        path = self.project.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if original is not None:
            path.write_bytes(original)
        return self.store.create(
            Located(Root(self.project, "a test"), parts, name),
            mode="create" if original is None else "single",
            caller=f"{client} over stdio",
            key=name,
            original=original,
            proposed=proposed,
            notes=notes,
            client=client,
        )

    def propose_files(self, files: Mapping[str, tuple[bytes | None, bytes]]) -> Review:
        """Write several files, and store one review of their changes."""
        proposed = []
        for name, (original, new) in files.items():
            parts = tuple(name.split("/"))
            path = self.project.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            if original is not None:
                path.write_bytes(original)
            proposed.append(ProposedFile(Located(Root(self.project, "a test"), parts, name), original, new))
        first, *more = proposed
        return self.store.create(
            first.located,
            mode="files",
            caller="tester over stdio",
            key="files",
            original=first.original,
            proposed=first.proposed,
            client="tester",
            more=more,
        )

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file of the project; None if it is missing."""
        path = self.project / name
        return path.read_bytes() if path.exists() else None


LINES = b"one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"
SEVERAL: dict[str, tuple[bytes | None, bytes]] = {
    "src/app.py": (b"def load(path):\n    pass\n", b"def read(path):\n    pass\n"),
    "docs/new.md": (None, b"# New\n"),
    "list.txt": (LINES, LINES.replace(b"one", b"1").replace(b"ten", b"10")),
}
"""A change of three files with four parts, for `propose_files`."""
