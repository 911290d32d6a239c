"""Entry points of installed distributions: a quick look finds every distribution that may declare the group."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from zipfile import ZipFile

import pytest
from toolmason_runtime.shared.entry_points import installed

GROUP = "acme.shelves"
METADATA = "Metadata-Version: 2.1\nName: acme\nVersion: 1\n"
DECLARED = f"[console_scripts]\nacme = acme:main\n\n[{GROUP}]\ntall = acme:TALL\n"


def wheel(place: Path, text: str, name: str = "acme-1.dist-info") -> Path:
    (place / name).mkdir(parents=True)
    (place / name / "METADATA").write_text(METADATA, encoding="utf-8")
    (place / name / "PKG-INFO").write_text(METADATA, encoding="utf-8")
    (place / name / "entry_points.txt").write_text(text, encoding="utf-8")
    return place


def archive(place: Path, text: str) -> Path:
    path = place / "acme.zip"
    with ZipFile(path, "w") as file:
        file.writestr("acme-1.dist-info/METADATA", METADATA)
        file.writestr("acme-1.dist-info/entry_points.txt", text)
    return path


PLACES: dict[str, Callable[[Path, str], Path]] = {
    "wheel": wheel,
    "development": lambda place, text: wheel(place, text, "acme.egg-info"),
    "egg": lambda place, text: wheel(place / "acme.egg", text, "EGG-INFO"),
    "zip": archive,
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_declared_group_is_found_wherever_it_is_installed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = PLACES[kind](tmp_path, DECLARED)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "absent"), str(place)])
    assert [(found.name, found.value) for found in installed(GROUP)] == [("tall", "acme:TALL")]


def test_a_group_that_nobody_declares_is_empty_and_loads_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path, DECLARED)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])  # without that of `importlib_metadata`, which a test may load
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    assert installed("acme.other") == []
