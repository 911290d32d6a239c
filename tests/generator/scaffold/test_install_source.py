"""A new project requires releases; where the toolkit came from is known to its development environment only."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from toolmason.scaffold import lay_out, project_names
from toolmason.scaffold.install_source import local_requirements, requirement


@pytest.mark.parametrize(
    ("recorded", "local"),
    [
        (None, []),
        (
            {"url": "file:///home/me/toolmason", "dir_info": {"editable": True}},
            ["toolmason @ file:///home/me/toolmason"],
        ),
        (
            {"url": "file:///tmp/toolmason-0.3.1-py3-none-any.whl", "archive_info": {}},
            [
                "toolmason @ file:///tmp/toolmason-0.3.1-py3-none-any.whl",
                "toolmason-toolkit @ file:///tmp/toolmason_toolkit-0.3.1-py3-none-any.whl",
            ],
        ),
        (
            {"url": "https://example.com/toolmason", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["toolmason @ git+https://example.com/toolmason@abc"],
        ),
    ],
    ids=["an index", "a checkout", "two wheels", "a repository"],
)
def test_a_local_toolkit_is_required_by_the_development_environment_only(
    recorded: dict[str, object] | None, local: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "toolmason-0.3.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: toolmason\nVersion: 0.3.1\n", encoding="utf-8")
    if recorded:
        (metadata / "direct_url.json").write_text(json.dumps(recorded), encoding="utf-8")
    toolkit = tmp_path / "toolmason_toolkit-0.3.1.dist-info"
    toolkit.mkdir()
    (toolkit / "METADATA").write_text("Name: toolmason-toolkit\nVersion: 0.3.1\n", encoding="utf-8")
    if recorded and "archive_info" in recorded:
        origin = json.dumps(recorded).replace("toolmason-0", "toolmason_toolkit-0")
        (toolkit / "direct_url.json").write_text(origin, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    files = lay_out(project_names("notes"))
    project = tomllib.loads(files["pyproject.toml"])

    assert requirement("toolkit") == "toolmason[toolkit]>=0.3,<0.4"
    assert project["project"]["dependencies"] == ["toolmason>=0.3,<0.4"]
    assert project["project"]["optional-dependencies"] == {"toolkit": ["toolmason[toolkit]>=0.3,<0.4"]}
    assert local_requirements() == local
    assert project["dependency-groups"].get("local", []) == local
    assert ("--group local" in files["README.md"]) is bool(local)
