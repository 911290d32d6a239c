"""`toolmason dev --inspector` downloads an exact version, which the tests drive as well."""

from __future__ import annotations

import json
import re
from pathlib import Path

from toolmason.development.inspector import PACKAGE

TESTS = Path(__file__).parents[2]


def test_the_inspector_is_an_exact_version() -> None:
    name, _, version = PACKAGE.rpartition("@")
    tested = json.loads((TESTS / "package.json").read_text(encoding="utf-8"))

    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert version in [packages.get(name) for key, packages in tested.items() if key.lower().endswith("dependencies")]


def test_nothing_that_the_toolkit_or_a_new_project_downloads_by_npx_has_a_range() -> None:
    root = TESTS.parent
    sources = [*root.glob("generator/**/*.py"), *root.glob("templates/**/*.jinja"), root / "noxfile.py"]
    packages = [
        package
        for path in sources
        for package in re.findall(r'"(@?[\w./-]+@[\w.^~*-]+)"', path.read_text(encoding="utf-8"))
    ]

    assert {package.rpartition("@")[0] for package in packages} >= {"@anthropic-ai/mcpb", PACKAGE.rpartition("@")[0]}
    assert [package for package in packages if not re.fullmatch(r"\d+\.\d+\.\d+", package.rpartition("@")[2])] == []
