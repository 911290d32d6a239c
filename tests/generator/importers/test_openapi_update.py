"""Which operations an import chooses, and what an update shows and keeps."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.importers.openapi.changes import changes
from toolmason.importers.openapi.merge import commented_keys

TEXT = {"type": "string"}
PATHS: dict[str, Any] = {
    "/v1/orders": {
        "post": {"operationId": "createOrder", "tags": ["orders"]},
        "get": {"operationId": "listOrders", "tags": ["orders"], "parameters": [{"name": "shop", "in": "query"}]},
    },
    "/v1/orders/{id}": {
        "delete": {"operationId": "deleteOrder", "tags": ["orders"]},
        "get": {"operationId": "getOrder", "tags": ["orders"]},
    },
    "/v2/users": {"get": {"operationId": "listUsers", "tags": ["users"]}},
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "openapi", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes the document and returns its path."""

    def source(paths: dict[str, Any] = PATHS, **other: Any) -> Path:
        path = tmp_path / "shop.json"
        data = {"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths, **other}
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return source


def names(text: str) -> list[str]:
    return list(tomllib.loads(text)["tools"])


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        ([], ["list_orders", "get_order", "list_users", "create_order", "delete_order"]),
        (["--include", "tag=users"], ["list_users"]),
        (["--include", "path=/v1/*", "--exclude", "method=delete"], ["list_orders", "get_order", "create_order"]),
        (["--include", "method=GET", "--exclude", "id=get*"], ["list_orders", "list_users"]),
        (["--include", "id=*Order", "--include", "users"], ["get_order", "list_users", "create_order", "delete_order"]),
        (["--exclude", "orders"], ["list_users"]),
        (["--exclude", "GET /v1/*"], ["list_users", "create_order", "delete_order"]),
        (["--exclude", "path=/v1/orders/{id}"], ["list_orders", "list_users", "create_order"]),
        (["--tag", "orders", "--exclude", "createOrder", "--read-only"], ["list_orders", "get_order"]),
    ],
)
def test_operations_are_chosen_by_tag_path_method_and_id(
    source: Callable[..., Path], options: list[str], tools: list[str]
) -> None:
    assert names(run(source(), *options).stdout) == tools


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--include", "tag=order"], "--include `order` matches nothing in the document; did you mean `orders`?"),
        (["--exclude", "method=patch"], "--exclude `PATCH` matches nothing in the document; available: GET, POST"),
        (["--exclude", "path=/v3/*"], "--exclude `/v3/*` matches nothing"),
        (["--exclude", "*"], "no operation is left to import; change --include, --exclude"),
    ],
)
def test_a_pattern_that_matches_nothing_is_refused(
    source: Callable[..., Path], options: list[str], message: str
) -> None:
    result = run(source(), *options)

    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    ("document", "orders", "users", "tools"),
    [
        ({}, {"x-mcp": False}, {}, ["list_users"]),
        ({}, {"x-mcp": {"enabled": False}}, {}, ["list_users"]),
        ({}, {"x-speakeasy-mcp": {"disabled": True}}, {}, ["list_users"]),
        ({"x-mcp": {"enabled": False}}, {}, {"x-mcp": {"name": "findPeople"}}, []),
        ({"x-mcp": {"enabled": False}}, {}, {"x-mcp": {"enabled": True, "name": "findPeople"}}, ["find_people"]),
        ({"x-mcp": False}, {"x-mcp": True}, {}, ["list_orders"]),
        ({}, {"x-mcp": {"name": "search"}}, {"x-mcp": {"name": "人"}}, ["list_orders", "list_users"]),
        ({}, {"x-mcp": {"enabled": "no", "name": 7}}, {"x-mcp": []}, ["list_orders", "list_users"]),
    ],
)
def test_a_document_chooses_tools_and_names(
    source: Callable[..., Path],
    document: dict[str, Any],
    orders: dict[str, Any],
    users: dict[str, Any],
    tools: list[str],
) -> None:
    paths = {
        "/orders": {"get": {"operationId": "listOrders", **orders}},
        "/users": {"get": {"operationId": "listUsers", **users}},
    }
    result = run(source(paths, **document))

    assert result.exit_code == (0 if tools else 1)
    assert not tools or names(result.stdout) == tools
    assert tools or "the document disables all its operations with `x-mcp`" in result.stderr


def test_the_description_of_the_document_for_models_is_used(source: Callable[..., Path]) -> None:
    operation = {"summary": "Users", "description": "For people.", "x-mcp": {"description": "Find a user by name."}}

    data = tomllib.loads(run(source({"/users": {"get": operation, "x-mcp": {"enabled": True}}})).stdout)

    assert data["tools"]["list_users"]["description"] == "Find a user by name."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--update"], "`--update` needs the manifest"),
        (["--update", "-o", "shop.toml", "--force"], "use one of them"),
        (["--update", "-o", "nothing.toml"], "nothing.toml does not exist; import it without --update first"),
        ([], "name the document: a file or a URL"),
    ],
)
def test_an_update_needs_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run(*options)

    assert result.exit_code == 2
    assert message in result.stderr


def test_an_update_shows_changes_and_keeps_edits_with_comments(source: Callable[..., Path], tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    run(source(), "-o", manifest, "--exclude", "users")
    text = manifest.read_text(encoding="utf-8")
    text = text.replace("[tools.list_orders]", "# Ours.\n[tools.find_orders]")
    text = text.replace("params.shop = {", 'params.branch = { query = "shop", description = "Town",')
    text = text.replace('summary = "Get order"', 'summary = "Show an order"  # better')
    manifest.write_text(text, encoding="utf-8")
    newer = json.loads(json.dumps(PATHS))
    del newer["/v1/orders/{id}"]["delete"]
    newer["/v1/orders"]["get"]["parameters"][0]["required"] = True
    newer["/v1/orders"]["put"] = {"operationId": "replaceOrders", "tags": ["orders"]}
    newer["/v1/orders/{id}"]["get"]["summary"] = "Read an order"
    source(newer)

    result = run("--update", "-o", manifest)

    printed = result.stderr.splitlines()
    assert "added (1): replace_orders" in printed
    assert "removed (1): delete_order" in printed
    assert "changed (2): find_orders, get_order" in printed
    assert {line for line in printed if line.startswith("breaking")} == {
        "breaking: delete_order is removed",
        "breaking: find_orders: the parameter `branch` is required",
    }
    updated = manifest.read_text(encoding="utf-8")
    assert "# Ours.\n[tools.find_orders]" in updated
    assert 'summary = "Show an order"  # better' in updated
    data = tomllib.loads(updated)
    assert names(updated) == ["find_orders", "get_order", "create_order", "replace_orders"]
    assert data["tools"]["find_orders"]["params"] == {
        "branch": {"query": "shop", "description": "Town", "type": "string", "aliases": ["shop"]}
    }
    assert "no tool has changed" in run("--update", "-o", manifest).stderr
    assert manifest.read_text(encoding="utf-8") == updated


@pytest.mark.parametrize("tool", ["delete_order", "cancel"])
def test_a_renamed_parameter_of_the_path_stays_the_same_one(
    source: Callable[..., Path], tmp_path: Path, tool: str
) -> None:
    manifest = tmp_path / "shop.toml"
    assert run(source(), "-o", manifest).exit_code == 0
    text = manifest.read_text(encoding="utf-8")
    start = text.index("[tools.delete_order]")
    end = text.find("\n[", start) if "\n[" in text[start:] else len(text)
    edited = (
        text[start:end].replace("delete_order", tool).replace("{id}", "{order}").replace("params.id", "params.order")
    )
    manifest.write_text(text[:start] + edited + text[end:], encoding="utf-8")
    delete = {**PATHS["/v1/orders/{id}"]["delete"], "parameters": [{"name": "reason", "in": "query"}]}

    result = run(source({**PATHS, "/v1/orders/{id}": {"delete": delete}}), "-o", manifest)

    assert result.exit_code == 0, result.output
    table = tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"][tool]
    assert (table["http"], sorted(table["params"])) == ("DELETE /v1/orders/{order}", ["order", "reason"])
    assert "breaking" not in result.stderr.replace("breaking: get_order", "")


def test_a_parameter_with_a_comment_is_not_removed(source: Callable[..., Path], tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    run(source(), "-o", manifest)
    text = manifest.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("params.shop"))
    manifest.write_text(text.replace(line, f"{line} # the town"), encoding="utf-8")
    newer = json.loads(json.dumps(PATHS))
    del newer["/v1/orders"]["get"]["parameters"]

    result = run(source(newer), "-o", manifest)

    assert f"{line} # the town" in manifest.read_text(encoding="utf-8")
    assert "params.shop: your edit is kept, but the document no longer contains it" in result.stderr


def test_comments_of_keys_are_found_in_every_layout() -> None:
    text = """
[tools.a]
summary = "A # b"
http = "GET /a" # request
params.x = { type = "string" }  # mine
params.y = { type = "string" }
[tools.b.params.z]
type = "string" # z
[types]
T.fields.f = { type = "string" } # f
"""
    assert commented_keys(text) == {
        ("tools", "a", "http"),
        ("tools", "a", "params", "x"),
        ("tools", "b", "params", "z", "type"),
        ("types", "T", "fields", "f"),
    }


@pytest.mark.parametrize(
    ("before", "after", "breaking"),
    [
        ({"type": "string"}, {"type": "string", "required": False}, ""),
        ({"type": "string", "required": False}, {"type": "string"}, "the parameter `x` is required"),
        ({"type": "string"}, {"type": "integer"}, "the parameter `x` is `integer`, not `string`"),
        ({"type": "T[]"}, {"type": "object[]"}, ""),
        ({"type": "string"}, None, "the parameter `x` is removed"),
        (None, {"type": "string"}, "the parameter `x` is new and required"),
        (None, {"type": "string", "required": False}, ""),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, "no longer accepts `b`"),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a", "b"]}, ""),
        ({"type": "string"}, {"type": "string", "enum": ["a"]}, "no longer accepts `any other`"),
        ({"type": "integer"}, {"type": "integer", "maximum": 9}, "stricter `maximum`"),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}, ""),
        ({"type": "string", "max_length": 9}, {"type": "string", "max_length": 8}, "stricter `max_length`"),
        ({"type": "string"}, {"type": "string", "pattern": "a"}, "stricter `pattern`"),
        ({"type": "string", "nullable": True}, {"type": "string"}, "stricter `nullable`"),
        ({"type": "string"}, {"type": "string", "description": "New"}, ""),
    ],
)
def test_a_change_is_breaking_if_a_valid_call_can_fail(before: Any, after: Any, breaking: str) -> None:
    old = {"tools": {"t": {"params": {"x": before} if before else {}}}, "types": {"T": {"fields": {}}}}
    new = {"tools": {"t": {"params": {"x": after} if after else {}}}, "types": {"T": {"fields": {}}}}

    found = changes(old, new)

    assert found.changed == ["t"]
    assert len(found.breaking) == bool(breaking)
    assert not breaking or breaking in found.breaking[0]
