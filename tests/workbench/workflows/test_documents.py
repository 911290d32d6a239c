"""The `workflow://` resources of the generated server."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.shared.selection import Selection

from workbench_server.options import Options
from workbench_server.server import build_dispatcher


@dataclass(frozen=True)
class Kind:
    name: str
    variable: str
    directory: str
    suffix: str
    mime_type: str


each_kind = pytest.mark.parametrize(
    "kind",
    [
        Kind("specs", "DEFAULT_SPEC_DIR", "specs", ".md", "text/markdown"),
        Kind("reviews", "DEFAULT_REVIEW_DIR", "reviews", ".md", "text/markdown"),
        Kind("context", "DEFAULT_CONTEXT_DIR", ".workflow-context", ".json", "application/json"),
    ],
    ids=lambda kind: kind.name,
)


def ask(room: Any, client: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one request to the generated server."""

    async def request() -> dict[str, Any]:
        dispatcher = build_dispatcher(Selection("classic"), options=Options(root=(str(room.project),)))
        try:
            result: dict[str, Any] = await dispatcher.dispatch(method, params, client)
            return result
        finally:
            await dispatcher.aclose()

    return asyncio.run(request())


def read(room: Any, client: Any, uri: str) -> dict[str, Any]:
    (content,) = ask(room, client, "resources/read", {"uri": uri})["contents"]
    result: dict[str, Any] = content
    return result


def completed(room: Any, client: Any, kind: str, value: str = "") -> list[str]:
    params = {
        "ref": {"type": "ref/resource", "uri": f"workflow://{kind}/{{name}}"},
        "argument": {"name": "name", "value": value},
    }
    values: list[str] = ask(room, client, "completion/complete", params)["completion"]["values"]
    return values


@each_kind
def test_documents_are_read_by_name_and_completed(room: Any, client: Any, kind: Kind) -> None:
    room.write(f"{kind.directory}/Login flow{kind.suffix}", "# Login\nä\n")
    room.write(f"{kind.directory}/queue{kind.suffix}", "# Queue\n")
    room.write(f"{kind.directory}/other.txt", "not a document")
    uri = f"workflow://{kind.name}/Login%20flow"

    assert read(room, client, uri) == {"uri": uri, "mimeType": kind.mime_type, "text": "# Login\nä\n"}
    assert completed(room, client, kind.name) == ["Login flow", "queue"]
    assert completed(room, client, kind.name, "QUE") == ["queue"]


@each_kind
@pytest.mark.parametrize("place", ["relative", "absolute"])
def test_variables_select_the_directories(
    room: Any, client: Any, monkeypatch: pytest.MonkeyPatch, kind: Kind, place: str
) -> None:
    chosen: Path = room.project / "docs" if place == "relative" else room.project.parent / "owner"
    chosen.mkdir()
    (chosen / f"plan{kind.suffix}").write_text("text", encoding="utf-8")
    monkeypatch.setenv(kind.variable, "./docs" if place == "relative" else str(chosen))

    assert read(room, client, f"workflow://{kind.name}/plan")["text"] == "text"
    assert completed(room, client, kind.name) == ["plan"]


@pytest.mark.parametrize("uri", ["workflow://specs/missing", "workflow://specs/..%2F..%2Fproj-evil%2Fsecret"])
def test_missing_documents_and_paths_outside_are_not_found(room: Any, client: Any, uri: str) -> None:
    (room.outside / "secret.md").write_text("secret", encoding="utf-8")

    with pytest.raises(MethodError, match="not found"):
        read(room, client, uri)
    assert completed(room, client, "specs") == []


def test_link_to_a_file_outside_is_refused(room: Any, client: Any) -> None:
    (room.project / "specs").mkdir()
    (room.project / "specs" / "x.md").symlink_to(room.outside / "secret.txt")

    with pytest.raises(MethodError, match="outside the allowed directories"):
        read(room, client, "workflow://specs/x")


@pytest.mark.parametrize(
    ("minutes", "age_minutes", "is_served"),
    [
        ("", 29, True),
        ("", 31, False),
        ("5", 4, True),
        ("5", 6, False),
        ("never", 29, True),
        ("0", 29, True),
        ("-1", 31, False),
    ],
)
def test_contexts_expire(
    room: Any,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    minutes: str,
    age_minutes: int,
    *,
    is_served: bool,
) -> None:
    monkeypatch.setenv("CONTEXT_CACHE_TTL_MINUTES", minutes)
    modified = time.time() - age_minutes * 60
    for directory, suffix in ((".workflow-context", ".json"), ("specs", ".md")):
        os.utime(room.write(f"{directory}/facts{suffix}", "{}"), (modified, modified))

    if is_served:
        assert read(room, client, "workflow://context/facts")["text"] == "{}"
    else:
        with pytest.raises(MethodError, match="not found"):
            read(room, client, "workflow://context/facts")
    assert completed(room, client, "context") == (["facts"] if is_served else [])
    assert read(room, client, "workflow://specs/facts")["text"] == "{}", "specifications do not expire"
