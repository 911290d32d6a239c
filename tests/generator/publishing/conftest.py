"""A project that fulfils the rules of every profile."""

from __future__ import annotations

import pytest

from toolmason.project import Project

GOOD = """
[server]
name = "notes"
title = "Notes"
version = "0.1.0"
summary = "Measure texts"
author = "Ada"
license = "MIT"
repository = "https://github.com/ada/notes"
privacy_policy = "https://notes.example/privacy"
distribution = "notes"
registry_name = "io.github.ada/notes"
package = "notes_server"
handlers = "notes"

[[server.icons]]
src = "https://notes.example/icon.png"

[discovery]
style = "classic"

[categories.text]
summary = "Measure texts"

[tools.count_words]
title = "Count words"
summary = "Count the words of a text"
category = "text"
hints = { read_only = true, open_world = false }
handler = "text:count_words"
params.text = { type = "string", description = "The text" }
returns = "TextSize"
"""
"""The beginning of a manifest that fulfils every rule. `{tool}` below follows it."""
TYPES = """
[types.TextSize]
description = "Size of a text"
fields.words = { type = "integer", description = "Words separated by white space", minimum = 0 }
"""
README = """# Notes

<!-- mcp-name: io.github.ada/notes -->

## Examples

## Privacy policy

## Support
"""


@pytest.fixture
def published(project: Project) -> Project:
    """A project without findings of any profile."""
    project.manifest.write_text(f"edition = 1\n{GOOD}{TYPES}", encoding="utf-8")
    (project.root / "README.md").write_text(README, encoding="utf-8")
    (project.root / "LICENSE").write_text("MIT\n", encoding="utf-8")
    (project.root / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    (project.root / "handlers" / "notes" / "text.py").write_text("def count_words(params, call): ...\n", "utf-8")
    git = project.root / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "refs" / "heads" / "main").write_text("0123456789" * 4 + "\n", encoding="utf-8")
    return project
