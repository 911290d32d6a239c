"""Upstreams of a manifest are described by their schemas, and never started by the toolkit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MANIFEST = """
edition = 1
server = {{ name = "desk", package = "desk_server" }}

[categories.files]
summary = "Files of one directory"

[upstreams.files]
command = [{python}, "-c", "open('{marker}', 'w')"]
category = "files"

[tools.find_files]
summary = "Find files"
upstream = "files"
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
input_schema = {{ type = "object", properties.name = {{ type = "string" }}, required = ["name"] }}
arguments.name = {{ rename = "$name" }}
"""


@pytest.mark.parametrize("command", ["generate", "check", "lint", "stats"])
def test_no_command_of_the_toolkit_starts_an_upstream(tmp_path: Path, command: str) -> None:
    marker = tmp_path / "started"
    manifest = tmp_path / "manifest" / "desk.toml"
    manifest.parent.mkdir()
    text = MANIFEST.format(python=json.dumps(sys.executable), marker=str(marker))
    manifest.write_text(text, encoding="utf-8")
    for step in dict.fromkeys(["generate", command]):
        subprocess.run([sys.executable, "-m", "toolmason", step], cwd=tmp_path, timeout=120, check=False)

    catalogue = json.loads((tmp_path / "generated" / "desk_server" / "catalogue.json").read_text(encoding="utf-8"))
    assert catalogue["tools"]["find_files"]["upstream"] == "files"
    assert not marker.exists()
