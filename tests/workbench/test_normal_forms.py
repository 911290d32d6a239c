"""A path that looks the same as an existing one is that one, whatever normal form of Unicode it is sent in."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest
from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import existing, open_file
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing

NAMES = {
    "French": "caf\u00e9.txt",
    "Korean": "\ud55c\uae00/\ubb38\uc11c.md",
    "Japanese": "\u30d5\u30a9\u30eb\u30c0/\u304c.txt",
    "Vietnamese": "Ti\u1ebfng Vi\u1ec7t/\u1ec7.csv",
    "German": "Gr\u00f6\u00dfe/\u00dcbersicht.toml",
    "Swedish": "\u00c5ngstr\u00f6m.py",
    "Hindi": "\u0915\u093c.txt",
}


def roots(directory: Path) -> tuple[Root, ...]:
    return (Root.of(str(directory), "tests"),)


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("sent", ["NFC", "NFD"])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_an_existing_path_is_found_in_each_form(tmp_path: Path, name: str, stored: str, sent: str) -> None:
    path = tmp_path / normalize(stored, name)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")
    asked = normalize(sent, name)  # type: ignore[arg-type]

    for asked_path in (asked, str(tmp_path / asked)):
        with open_file(existing(asked_path, roots(tmp_path))) as stream:
            assert stream.read() == b"x"
        assert locate_for_writing(asked_path, roots(tmp_path)).path == path


def test_a_new_file_keeps_its_form(tmp_path: Path) -> None:
    located = locate_for_writing("cafe\u0301/new.txt", roots(tmp_path))

    assert located.path == tmp_path / "cafe\u0301" / "new.txt"


def test_two_paths_that_look_the_same_are_distinguished(tmp_path: Path) -> None:
    for form in ("\u1e69", "s\u0323\u0307"):
        (tmp_path / form).write_text(form, encoding="utf-8")

    assert existing("\u1e69", roots(tmp_path)).path.name == "\u1e69"
    with pytest.raises(ToolError, match="no such file"):
        existing("s\u0307\u0323", roots(tmp_path))


def test_a_link_that_leads_out_is_refused_in_each_form(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (inside / "cafe\u0301").symlink_to(tmp_path / "secret")

    with pytest.raises(ToolError, match="outside the allowed directories"):
        existing("caf\u00e9", roots(inside))
