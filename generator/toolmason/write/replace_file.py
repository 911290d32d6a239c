"""Write a file that the user keeps in version control: the whole file, or nothing."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex


def replace_file(path: Path, content: str | bytes) -> None:
    """Write the whole file or nothing. A link at `path`, which may lead out of the project, is replaced.

    Raises:
        OSError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}-{token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
