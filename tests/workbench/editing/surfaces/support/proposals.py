"""Reviews in a store, for tests of the surfaces on which a person decides them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench_handlers.editing.reviews.store import Review, ReviewStore
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

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file of the project; None if it is missing."""
        path = self.project / name
        return path.read_bytes() if path.exists() else None
