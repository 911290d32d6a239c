"""`toolmason import openapi` with Postman collections: requests become tools, examples become types."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def run(path: Path, items: list[Any], *arguments: str | Path, **members: Any) -> Result:
    collection = {"info": {"name": "Shop", "schema": SCHEMA}, "item": items, **members}
    path.write_text(json.dumps(collection, indent=1), encoding="utf-8")
    return CliRunner().invoke(toolmason, ["import", "openapi", str(path), *map(str, arguments)])


def tables(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return tomllib.loads(result.stdout)


def raw(value: Any, **options: Any) -> dict[str, Any]:
    return {"mode": "raw", "raw": value if isinstance(value, str) else json.dumps(value), **options}


def test_a_collection_gives_tools(tmp_path: Path) -> None:
    orders = {
        "name": "Orders",
        "item": [
            {
                "name": "Get an order",
                "request": {
                    "method": "GET",
                    "description": {"content": "Returns one order with its lines."},
                    "header": [{"key": "X-Trace", "value": "1", "disabled": True}, {"key": "Accept", "value": "*/*"}],
                    "url": {
                        "raw": "{{base}}/orders/:id/lines/{{line}}?limit=10&tag=a&tag=b",
                        "host": ["{{base}}"],
                        "path": ["orders", ":id", "lines", "{{line}}"],
                        "query": [
                            {"key": "limit", "value": "10", "description": "Most lines"},
                            {"key": "tag", "value": "a"},
                            {"key": "tag", "value": "b"},
                        ],
                        "variable": [{"key": "id", "value": "7", "description": "Number of the order"}],
                    },
                },
            },
            {
                "name": "Create an order",
                "request": {
                    "method": "POST",
                    "url": "{{base}}/orders",
                    "body": raw('{"note": "x", "count": 2, "lines": [{"sku": "A", "price": 1.5}], "paid": true}'),
                },
            },
        ],
    }
    variables = [{"key": "base", "value": "https://{{host}}/v1"}, {"key": "host", "value": "api.shop.example"}]
    auth = {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]}

    result = run(tmp_path / "shop.json", [orders], "--report", tmp_path / "r.json", variable=variables, auth=auth)

    manifest = tables(result)
    assert manifest["apis"]["shop"] == {
        "base_url": "https://api.shop.example/v1",
        "summary": "Shop",
        "auth": {"bearer": "$SHOP_TOKEN"},
    }
    get, post = manifest["tools"]["get_an_order"], manifest["tools"]["create_an_order"]
    assert get["http"] == "GET /orders/{id}/lines/{line}"
    assert get["category"] == "orders"
    assert get["description"] == "Returns one order with its lines."
    assert get["params"].keys() == {"id", "line", "limit", "tag", "trace"}
    assert get["params"]["id"]["description"] == "Number of the order. Example: 7"
    assert get["params"]["limit"]["required"] is False
    assert get["params"]["tag"]["type"] == "string[]"
    assert post["params"].keys() == {"note", "count", "lines", "paid"}
    assert post["params"]["paid"]["type"] == "boolean"
    (line,) = manifest["types"].values()
    assert {key: entry["type"] for key, entry in line["fields"].items()} == {"sku": "string", "price": "number"}
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["operations"]
    where = report["POST /orders"]["at"].removeprefix(f"{tmp_path / 'shop.json'}:")
    line_number = int(where.partition(":")[0])
    text = (tmp_path / "shop.json").read_text(encoding="utf-8").splitlines()
    assert "Create an order" in text[line_number]


URLS: dict[str, tuple[Any, str, str]] = {
    "text": ("https://a.example/b", "https://a.example", "GET /b"),
    "no scheme": ("a.example/b", "https://a.example", "GET /b"),
    "an unknown variable": ("{{url}}/b", "$SHOP_URL", "GET /b"),
    "parts": (
        {"protocol": "http", "host": ["a", "example"], "port": "81", "path": ["b", ":c"]},
        "http://a.example:81",
        "GET /b/{c}",
    ),
    "a variable in a part of the path": (
        "https://a.example/b-{{ the id }}.json",
        "https://a.example",
        "GET /b-{the_id}.json",
    ),
    "no path": ("https://a.example", "https://a.example", "GET /"),
    "a fragment": ("https://a.example/b?x=1#c", "https://a.example", "GET /b"),
}


@pytest.mark.parametrize(("url", "base", "http"), URLS.values(), ids=URLS)
def test_the_address_of_a_request(tmp_path: Path, url: Any, base: str, http: str) -> None:
    manifest = tables(run(tmp_path / "a.json", [{"name": "Get b", "request": {"url": url}}], "--name", "shop"))

    assert manifest["apis"]["shop"]["base_url"] == base
    assert manifest["tools"]["get_b"]["http"] == http


AUTHS: dict[str, tuple[Any, list[Any], Any]] = {
    "basic": ({"type": "basic", "basic": []}, [], {"basic": "$SHOP_USER:$SHOP_PASSWORD"}),
    "a key": (
        {"type": "apikey", "apikey": [{"key": "key", "value": "X-K"}, {"key": "in", "value": "header"}]},
        [],
        {"header": "X-K", "value": "$SHOP_API_KEY"},
    ),
    "version 2.0": (
        {"type": "apikey", "apikey": {"key": "k", "in": "query"}},
        [],
        {"query": "k", "value": "$SHOP_API_KEY"},
    ),
    "a header": (None, [{"key": "Authorization", "value": "Bearer {{t}}"}], {"bearer": "$SHOP_TOKEN"}),
    "a header with a key": (
        None,
        [{"key": "X-Api-Key", "value": "{{k}}"}],
        {"header": "X-Api-Key", "value": "$SHOP_API_KEY"},
    ),
    "none": ({"type": "noauth"}, [], None),
    "another kind": ({"type": "hawk"}, [], None),
}


@pytest.mark.parametrize(("auth", "headers", "expected"), AUTHS.values(), ids=AUTHS)
def test_the_credential_of_a_request_is_never_in_the_manifest(
    tmp_path: Path, auth: Any, headers: list[Any], expected: Any
) -> None:
    request = {"url": "https://a.example/b", "header": headers, **({"auth": auth} if auth else {})}

    result = run(tmp_path / "a.json", [{"name": "Get b", "request": request}], "--name", "shop")

    assert tables(result)["apis"]["shop"].get("auth") == expected
    assert "params" not in tables(result)["tools"]["get_b"]
    assert ("credentials that are not sent" in result.stderr) == (bool(auth) and auth["type"] == "hawk")


BODIES: dict[str, tuple[Any, set[str], str]] = {
    "json": (raw({"a": 1}), {"a"}, ""),
    "json with a variable": (raw('{"a": {{x}}, "b": "{{y}}"}'), {"a", "b"}, ""),
    "a list": (raw([{"a": 1}]), {"body"}, ""),
    "no json, but said so": (raw("{", options={"raw": {"language": "json"}}), {"body"}, ""),
    "xml": (raw("<a/>", options={"raw": {"language": "xml"}}), {"body", "content_type"}, ""),
    "text": (raw("hello"), {"body"}, ""),
    "a form": ({"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "1"}]}, {"a"}, ""),
    "a file": ({"mode": "formdata", "formdata": [{"key": "a", "type": "file", "src": "/x"}]}, {"a"}, ""),
    "graphql": ({"mode": "graphql", "graphql": {"query": "{a}", "variables": '{"x": 1}'}}, {"query", "variables"}, ""),
    "a file as body": ({"mode": "file", "file": {"src": "/x"}}, {"file", "content_type"}, ""),
    "disabled": ({**raw({"a": 1}), "disabled": True}, set(), ""),
}


@pytest.mark.parametrize(("body", "names", "problem"), BODIES.values(), ids=BODIES)
def test_the_body_of_a_request(tmp_path: Path, body: Any, names: set[str], problem: str) -> None:
    items = [
        {"name": "Add b", "request": {"method": "POST", "url": "https://a.example/b", "body": body}},
        {"name": "Get b", "request": "https://a.example/b"},
    ]

    manifest = tables(run(tmp_path / "a.json", items, "--report", tmp_path / "r.json"))

    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["operations"]["POST /b"]
    tool = manifest["tools"].get("add_b", {})
    assert (tool.get("params") or tool.get("input_schema", {}).get("properties", {})).keys() == names
    assert any(loss["detail"] == problem for loss in report["losses"]) == bool(problem)


def test_examples_of_the_same_request_are_one_tool(tmp_path: Path) -> None:
    items = [
        {"name": "Find", "request": {"url": "https://a.example/b?x=1"}},
        {"name": "Find more", "request": {"url": "https://a.example/b?x=2&y=3"}},
    ]

    result = run(tmp_path / "a.json", items)

    assert tables(result)["tools"]["find_b"]["params"].keys() == {"x", "y"}
    assert "`Find more` is another example of GET /b: its parameters are added to those of the first" in result.stderr


def test_an_answer_of_the_api_of_postman_contains_the_collection(tmp_path: Path) -> None:
    collection = {
        "info": {"name": "Shop", "schema": SCHEMA},
        "item": [{"name": "Get", "request": "https://a.example/b"}],
    }
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"collection": collection}), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["import", "openapi", str(file)])

    assert list(tables(result)["tools"]) == ["get_b"]


@pytest.mark.parametrize(
    "items",
    [
        [],
        [7],
        [{"request": 7}],
        [{"request": {"url": {"path": [{}]}, "body": 7, "header": "x"}}],
        [{"item": [{"item": 1}]}],
    ],
)
def test_no_damaged_collection_ends_in_a_traceback(tmp_path: Path, items: list[Any]) -> None:
    result = run(tmp_path / "a.json", items, variable=[7, {"key": 1}], auth=[], event=3)

    assert result.exit_code in (0, 1)
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_variables_that_contain_each_other_are_replaced_in_limited_time(tmp_path: Path) -> None:
    variables = [{"key": f"v{number}", "value": f"{{{{v{(number + 1) % 9}}}}}" * 70} for number in range(9)]
    items = [
        {"name": f"n {number}", "request": {"url": f"https://a.example/{{{{v0}}}}/{number}", "body": raw("{{v0}}")}}
        for number in range(20)
    ]

    start = time.process_time()
    result = run(tmp_path / "a.json", items, variable=variables)

    assert result.exit_code in (0, 1)
    assert time.process_time() - start < 20
