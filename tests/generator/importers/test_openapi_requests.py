"""What an imported tool sends besides parameters and JSON: credentials, cookies, pages; and answers that are files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolmason.commands import toolmason


def imported(tmp_path: Path, operation: dict[str, Any], *options: str, **document: Any) -> dict[str, Any]:
    """Return the manifest of a document with one operation, `GET /things`, and what the report says."""
    source, report = tmp_path / "api.json", tmp_path / "report.json"
    data = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/things": {"get": {"operationId": "list_things", "responses": {}, **operation}}},
        **document,
    }
    source.write_text(json.dumps(data), encoding="utf-8")
    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source), "--report", str(report), *options])
    assert result.exit_code == 0, result.output
    return {**tomllib.loads(result.stdout), "report": json.loads(report.read_text(encoding="utf-8"))}


def key(place: str, name: str) -> dict[str, str]:
    return {"type": "apiKey", "in": place, "name": name}


BEARER = {"type": "http", "scheme": "bearer"}
CREDENTIALS: dict[str, tuple[dict[str, Any], list[dict[str, list[str]]], dict[str, Any], list[str]]] = {
    "one": ({"a": BEARER}, [{"a": []}], {"auth": {"bearer": "$SHOP_TOKEN"}}, []),
    "either, the better one": (
        {"a": key("query", "key"), "b": BEARER},
        [{"a": []}, {"b": []}],
        {"auth": {"bearer": "$SHOP_TOKEN"}},
        [],
    ),
    "both, in two headers": (
        {"app": key("header", "X-App-Id"), "secret": key("header", "X-Api-Key")},
        [{"app": [], "secret": []}],
        {"auth": {"header": "X-App-Id", "value": "$SHOP_APP_ID"}, "headers": {"X-Api-Key": "$SHOP_API_KEY"}},
        [],
    ),
    "both, a token and a header": (
        {"token": BEARER, "team": key("header", "X-Team")},
        [{"token": [], "team": []}],
        {"auth": {"bearer": "$SHOP_TOKEN"}, "headers": {"X-Team": "$SHOP_TEAM"}},
        [],
    ),
    "both, in one header": (
        {"token": BEARER, "raw": key("header", "Authorization")},
        [{"token": [], "raw": []}],
        {"auth": {"bearer": "$SHOP_TOKEN"}},
        ["raw; the tool sends token"],
    ),
    "both, one of them in the query": (
        {"token": BEARER, "key": key("query", "key")},
        [{"token": [], "key": []}],
        {"auth": {"bearer": "$SHOP_TOKEN"}},
        ["key; the tool sends token"],
    ),
    "a cookie": (
        {"session": key("cookie", "JSESSIONID")},
        [{"session": []}],
        {"auth": {"header": "Cookie", "value": "JSESSIONID=$SHOP_COOKIE"}},
        [],
    ),
    "optional": ({"a": BEARER}, [{"a": []}, {}], {"auth": {"bearer": "$SHOP_TOKEN", "optional": True}}, []),
    "optional, written first": (
        {"a": key("query", "key")},
        [{}, {"a": []}],
        {"auth": {"query": "key", "value": "$SHOP_API_KEY", "optional": True}},
        [],
    ),
    "optional, one or both": (
        {"a": key("header", "A"), "b": key("header", "B")},
        [{}, {"a": [], "b": []}, {"b": []}],
        {"auth": {"header": "B", "value": "$SHOP_API_KEY", "optional": True}},
        [],
    ),
    "optional, only both": (
        {"a": key("header", "A"), "b": key("header", "B")},
        [{}, {"a": [], "b": []}],
        {},
        ["a, b, optional"],
    ),
    "none": ({"a": BEARER}, [{}], {}, []),
    "all of one rather than a part of another": (
        {"a": {"type": "mutualTLS"}, "b": BEARER, "c": key("header", "C"), "d": key("header", "D")},
        [{"a": [], "b": []}, {"c": [], "d": []}],
        {"auth": {"header": "C", "value": "$SHOP_C"}, "headers": {"D": "$SHOP_D"}},
        [],
    ),
    "optional and unknown": ({"a": {"type": "mutualTLS"}}, [{"a": []}, {}], {}, []),
    "unknown": ({"a": {"type": "mutualTLS"}}, [{"a": []}], {}, ["a"]),
}


@pytest.mark.parametrize(("schemes", "security", "api", "lost"), CREDENTIALS.values(), ids=CREDENTIALS)
def test_credentials_of_alternatives_and_of_combinations(
    tmp_path: Path, schemes: dict[str, Any], security: Any, api: dict[str, Any], lost: list[str]
) -> None:
    manifest = imported(tmp_path, {"security": security}, components={"securitySchemes": schemes})

    (table,) = manifest["apis"].values()
    assert {name: table[name] for name in ("auth", "headers") if name in table} == api
    losses = manifest["report"]["operations"]["GET /things"]["losses"]
    assert [item["detail"] for item in losses if item["kind"] == "security"] == lost


SCHEMES = {
    "token": BEARER,
    "key": key("header", "X-Api-Key"),
    "user": {"type": "http", "scheme": "basic"},
    "login": {"type": "oauth2", "flows": {}},
    "session": key("cookie", "sid"),
    "card": {"type": "mutualTLS"},
}
ALL = [{"token": []}, {"key": [], "session": []}, {"user": []}, {"login": ["read"]}, {"card": []}]


@pytest.mark.parametrize(
    ("names", "auth"),
    [
        ([], {"bearer": "$SHOP_TOKEN"}),
        (["user"], {"basic": "$SHOP_USER:$SHOP_PASSWORD"}),
        (["login"], {"bearer": "$SHOP_TOKEN"}),
        (["session"], {"header": "X-Api-Key", "value": "$SHOP_API_KEY"}),
    ],
)
def test_the_author_chooses_one_of_several_credentials(tmp_path: Path, names: list[str], auth: dict[str, str]) -> None:
    options = [part for name in names for part in ("--security", name)]
    manifest = imported(tmp_path, {"security": ALL}, *options, components={"securitySchemes": SCHEMES})

    assert manifest["apis"]["shop"]["auth"] == auth


def test_the_other_credentials_are_named_once(tmp_path: Path) -> None:
    get = {"responses": {}, "security": [*ALL, {"token": ["write"]}]}
    other: dict[str, Any] = {"responses": {}, "security": [{"user": []}, {"key": []}]}
    optional = {"operationId": "list_words", "security": [{"user": []}, {}, {"key": []}]}
    paths = {
        "/things": {"get": {**get, "operationId": "list_things"}, "post": {**get, "operationId": "add_thing"}},
        "/parts": {"get": {**other, "operationId": "list_parts"}, "put": {"security": [{"key": []}], "responses": {}}},
    }
    paths["/words"] = {"get": optional}
    source, manifest = tmp_path / "api.json", tmp_path / "shop.toml"
    data = {"openapi": "3.0.0", "info": {"title": "Shop"}, "paths": paths, "components": {"securitySchemes": SCHEMES}}
    servers = [{"url": "https://shop.example"}]
    source.write_text(json.dumps({**data, "servers": servers}), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source), "-o", str(manifest)])

    assert result.exit_code == 0, result.output
    key_and_user = "`key` (header X-Api-Key) or `user` (user and password)"
    all_others = (
        "`token` (bearer token) or `card` (mutualTLS, which tools cannot send) or"
        " `key` (header X-Api-Key) with `session` (cookie sid) or `login` (OAuth token) or `user` (user and password)"
    )
    notes = [
        f"the API accepts {each}; tools send the first: to choose another, pass --security NAME"
        for each in (all_others, key_and_user)
    ]
    comments = [line for line in manifest.read_text(encoding="utf-8").splitlines() if line.startswith("# the API")]
    assert comments == [f"# {note}" for note in notes]
    assert [line for line in result.stderr.splitlines() if line.startswith("the API")] == notes


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tokn", "--security `tokn` is not a security scheme of the document; did you mean `token`?"),
        ("card", "--security `card` is a scheme of the type mutualTLS, which tools cannot send"),
    ],
)
def test_an_unusable_choice_of_a_credential_is_refused(tmp_path: Path, name: str, message: str) -> None:
    source = tmp_path / "api.json"
    data = {"openapi": "3.0.0", "info": {"title": "Shop"}, "paths": {"/a": {"get": {"security": ALL}}}}
    source.write_text(json.dumps({**data, "components": {"securitySchemes": SCHEMES}}), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source), "--security", name])

    assert (result.exit_code, message in result.output) == (1, True), result.output


def test_operations_without_and_with_a_credential_have_apis_of_their_own(tmp_path: Path) -> None:
    token: dict[str, list[str]] = {"token": []}
    accepted = {"order": [token], "thing": [token], "offer": [{}, token], "word": []}
    paths = {
        f"/{name}s": {"get": {"operationId": f"list_{name}s", "security": security}}
        for name, security in accepted.items()
    }
    manifest = imported(tmp_path, {}, paths=paths, components={"securitySchemes": SCHEMES})

    assert {name: tool["api"] for name, tool in manifest["tools"].items()} == {
        "list_orders": "shop",
        "list_things": "shop",
        "list_offers": "shop_optional",
        "list_words": "shop_public",
    }
    assert manifest["apis"]["shop_optional"]["auth"] == {"bearer": "$SHOP_TOKEN", "optional": True}


def test_a_cookie_is_a_parameter_unless_it_is_the_credential(tmp_path: Path) -> None:
    parameters = [{"name": "theme", "in": "cookie", "required": True, "schema": {"type": "string"}}]

    tool = imported(tmp_path, {"parameters": parameters})["tools"]["list_things"]
    assert tool["params"]["theme"] == {"type": "string", "cookie": "theme"}

    schemes = {"session": key("cookie", "sid")}
    operation = {"parameters": parameters, "security": [{"session": []}]}
    manifest = imported(tmp_path, operation, components={"securitySchemes": schemes})
    assert "params" not in manifest["tools"]["list_things"]
    (loss,) = manifest["report"]["operations"]["GET /things"]["losses"]
    assert loss == {"kind": "header", "detail": "theme"}


SERVERS = [
    {
        "url": "https://{region}.shop.example/{version}",
        "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}, "version": {"default": "v2"}},
    }
]


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ([], "https://eu.shop.example/v2"),
        (["--server-variable", "region=us"], "https://us.shop.example/v2"),
        (["--server-variable", "region=us", "--server-variable", "version=v3"], "https://us.shop.example/v3"),
    ],
)
def test_variables_of_a_server_can_be_chosen(tmp_path: Path, options: list[str], url: str) -> None:
    manifest = imported(tmp_path, {}, *options, servers=SERVERS)

    assert manifest["apis"]["shop"]["base_url"] == url
    note = "the variable `region` of the address is `eu` (other values: us): to change it, pass --server-variable"
    assert any(each.startswith(note) for each in manifest["report"]["notes"]) is (not options)


@pytest.mark.parametrize(
    ("url", "variables", "missing"),
    [
        ("https://{shop}.example", {"shop": {"description": "Your shop"}}, "variable `shop`, which has"),
        ("https://{shop}.example", {}, "variable `shop`, which has"),
        ("https://{shop}.example", {"shop": {"default": ""}}, "variable `shop`, which has"),
        ("https://shop.example/{version}", {"version": {"enum": ["v1"]}}, "variable `version`, which has"),
        ("{scheme}://{host}/{base}", {"base": {"default": ""}}, "variable `scheme` and `host`, which have"),
        ("https://shop.example/{base}", {"base": {"default": ""}}, ""),
    ],
)
def test_a_variable_of_a_server_without_a_default_is_asked_for(
    tmp_path: Path, url: str, variables: Any, missing: str
) -> None:
    servers = [{"url": url, "variables": variables}]
    manifest = imported(tmp_path, {}, servers=servers)

    assert manifest["apis"]["shop"]["base_url"] == ("$SHOP_URL" if missing else "https://shop.example")
    notes = [note for note in manifest["report"]["notes"] if "no default: pass --server-variable" in note]
    assert [missing in note for note in notes] == [True] * bool(missing)
    assert all(note.endswith("=VALUE, or set SHOP_URL to the whole address") for note in notes)

    get = {"operationId": "list_a", "servers": servers}
    own = imported(tmp_path, {}, paths={"/a": {"get": get}, "/b": {"get": {"operationId": "list_b"}}})
    assert list(own["tools"]) == (["list_b"] if missing else ["list_a", "list_b"])
    if missing:
        (loss,) = own["report"]["operations"]["GET /a"]["losses"]
        assert loss["kind"] == "left_out"
        assert missing in loss["detail"]


@pytest.mark.parametrize("value", ["region", "region=", "=us", "region=a b", "region=$HOME", "region=a@b"])
def test_a_variable_of_a_server_without_a_plain_value_is_refused(tmp_path: Path, value: str) -> None:
    result = CliRunner().invoke(toolmason, ["import", "openapi", str(tmp_path / "a.json"), "--server-variable", value])

    assert result.exit_code == 2
    assert "is not NAME=VALUE" in result.output


def test_an_update_keeps_the_variables_of_the_server(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest" / "shop.toml"
    imported_to = ["-o", str(manifest)]
    source = tmp_path / "api.json"
    data = {
        "openapi": "3.1.0",
        "info": {"title": "Shop"},
        "servers": SERVERS,
        "paths": {"/a": {"get": {"operationId": "list_a"}}},
    }
    source.write_text(json.dumps(data), encoding="utf-8")
    arguments = ["import", "openapi", str(source), *imported_to]
    assert CliRunner().invoke(toolmason, [*arguments, "--server-variable", "region=us"]).exit_code == 0

    assert CliRunner().invoke(toolmason, arguments).exit_code == 0
    assert (
        tomllib.loads(manifest.read_text(encoding="utf-8"))["apis"]["shop"]["base_url"] == "https://us.shop.example/v2"
    )


def answer(schema: Any, **headers: Any) -> dict[str, Any]:
    return {"200": {"description": "OK", "headers": headers, "content": {"application/json": {"schema": schema}}}}


def query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string", **schema}}


THING = {"type": "object", "properties": {"id": {"type": "string"}}}
THINGS = {"type": "array", "items": THING}
TEXT = {"type": "string"}


def page_of(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"data": THINGS, **members}}


PAGES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "GitHub": (answer(THINGS, Link={"schema": TEXT}), [query("page", type="integer")], {"next": "link"}),
    "Slack": (
        answer({"type": "object", "properties": {"channels": THINGS, "response_metadata": page_of(next_cursor=TEXT)}}),
        [query("cursor")],
        {"cursor": "response_metadata.next_cursor", "param": "cursor", "items": "channels"},
    ),
    "Google": (
        answer(page_of(nextPageToken=TEXT)),
        [query("pageToken"), query("pageSize", type="integer")],
        {"cursor": "nextPageToken", "param": "pageToken", "items": "data"},
    ),
    "Amazon": (
        answer(page_of(NextToken=TEXT)),
        [query("NextToken")],
        {"cursor": "NextToken", "param": "NextToken", "items": "data"},
    ),
    "Django": (
        answer(page_of(next={**TEXT, "format": "uri"}, previous=TEXT, count={"type": "integer"})),
        [query("page", type="integer")],
        {"next": "next", "items": "data"},
    ),
    "JSON:API": (
        answer(page_of(links={"type": "object", "properties": {"next": TEXT}})),
        [query("page[number]", type="integer")],
        {"next": "links.next", "items": "data"},
    ),
    "Notion": (
        answer(page_of(next_cursor={"type": ["string", "null"]}, has_more={"type": "boolean"})),
        [query("start_cursor"), query("after")],
        {"cursor": "next_cursor", "param": "after", "items": "data"},
    ),
    "numbers": (answer(THINGS), [query("page", type="integer")], {"page": "page"}),
    "numbers from 0": (answer(THINGS), [query("page", type="integer", default=0)], {"page": "page", "first": 0}),
    "Spring": (
        answer(page_of(last={"type": "boolean"})),
        [query("page", type="integer", minimum=0), query("size", type="integer")],
        {"page": "page", "first": 0, "items": "data"},
    ),
    "numbers from 0 in words": (
        answer(THINGS),
        [query("page", type="integer", description="Zero-based number of the page")],
        {"page": "page", "first": 0},
    ),
    "numbers from 1 with a minimum of 0": (
        answer(THINGS),
        [query("page", type="integer", minimum=0, default=1)],
        {"page": "page"},
    ),
    "an index without a beginning": (answer(THINGS), [query("pageIndex", type="integer")], {}),
    "an index": (answer(THINGS), [query("pageIndex", type="integer", default=0)], {"page": "pageIndex", "first": 0}),
    "Jira": (
        answer(page_of(isLast={"type": "boolean"}, total={"type": "integer"})),
        [query("startAt", type="integer", default=0), query("maxResults", type="integer")],
        {"offset": "startAt", "items": "data"},
    ),
    "OData": (
        answer(page_of(count={"type": "integer"})),
        [query("$top", type="integer"), query("$skip", type="integer")],
        {"offset": "$skip", "items": "data"},
    ),
    "Spotify": (
        answer(page_of(hasMore={"type": "boolean"})),
        [query("limit", type="integer"), query("offset", type="number")],
        {"offset": "offset", "more": "hasMore", "items": "data"},
    ),
    "SCIM": (
        answer(page_of()),
        [query("startIndex", type="integer", minimum=1), query("count", type="integer")],
        {"offset": "startIndex", "first": 1, "items": "data"},
    ),
    "an index of items without a beginning": (
        answer(page_of()),
        [query("startIndex", type="integer"), query("count", type="integer")],
        {},
    ),
    "an offset of time": (answer(THINGS), [query("offset")], {}),
    "a start without a limit": (answer(THINGS), [query("start", type="integer", default=0)], {}),
    "JSON:API with offsets": (
        answer(page_of()),
        [query("page[offset]", type="integer"), query("page[limit]", type="integer")],
        {"offset": "page[offset]", "items": "data"},
    ),
    "Stripe": (
        answer(page_of(has_more={"type": "boolean"}, url=TEXT)),
        [query("ending_before"), query("limit", type="integer"), query("starting_after")],
        {"last": "id", "param": "starting_after", "more": "has_more", "items": "data"},
    ),
    "Clever": (
        answer(page_of()),
        [query("starting_after")],
        {"last": "id", "param": "starting_after", "items": "data"},
    ),
    "items in envelopes": (
        answer(page_of(data={"type": "array", "items": {"type": "object", "properties": {"data": THING}}})),
        [query("starting_after")],
        {"last": "data.id", "param": "starting_after", "items": "data"},
    ),
    "an array with the last item": (answer(THINGS), [query("after_id")], {"last": "id", "param": "after_id"}),
    "OpenAI": (
        answer(page_of(first_id=TEXT, last_id=TEXT, has_more={"type": "boolean"})),
        [query("after"), query("limit", type="integer")],
        {"cursor": "last_id", "param": "after", "more": "has_more", "items": "data"},
    ),
    "after a time": (answer(page_of()), [query("after")], {}),
    "items without an identity": (
        answer({"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}}),
        [query("starting_after")],
        {},
    ),
    "a page of a book": (answer(THINGS), [query("page")], {}),
    "a next step": (answer(page_of(next=TEXT)), [], {}),
    "two lists": (answer(page_of(more=THINGS)), [query("page", type="integer")], {}),
    "one thing": (answer(THING), [query("page", type="integer")], {}),
    "no answer": ({}, [query("page", type="integer")], {}),
}


@pytest.mark.parametrize(("responses", "parameters", "paginate"), PAGES.values(), ids=PAGES)
def test_pages_are_read_where_the_document_shows_how(
    tmp_path: Path, responses: Any, parameters: Any, paginate: dict[str, Any]
) -> None:
    operation = {"responses": responses, "parameters": parameters}

    tool = imported(tmp_path, operation, "--pages", "3")["tools"]["list_things"]
    assert tool.get("paginate") == ({**paginate, "max_pages": 3} if paginate else None)

    manifest = imported(tmp_path, operation)
    assert "paginate" not in manifest["tools"]["list_things"]
    assert any("--pages N" in note for note in manifest["report"]["notes"]) is bool(paginate)


@pytest.mark.parametrize(
    ("content", "is_file"),
    [
        ({"application/pdf": {}}, True),
        ({"image/png": {}, "image/jpeg": {}}, True),
        ({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}, True),
        ({"*/*": {"schema": {"type": "string", "format": "binary"}}}, True),
        ({"application/zip; charset=binary": {}}, True),
        ({"application/pdf": {}, "application/json": {"schema": THING}}, True),
        ({"application/pdf": {"schema": THING}, "application/json": {"schema": THING}}, False),
        ({"application/octet-stream": {}, "text/csv": {}}, True),
        ({"text/csv": {}}, False),
        ({"application/xml": {}}, False),
        ({"*/*": {}}, False),
        ({}, False),
    ],
)
def test_a_binary_answer_can_be_saved(tmp_path: Path, content: Any, is_file: bool) -> None:
    responses = {"200": {"description": "OK", "content": content}, "404": {"content": {"application/json": {}}}}
    parameters = [query("save_as")]

    tool = imported(tmp_path, {"responses": responses, "parameters": parameters})["tools"]["list_things"]

    assert tool.get("save") == ("save_as_2" if is_file else None)
    names = [name for name in tool["params"] if name != "accept"]
    assert names == (["save_as", "save_as_2"] if is_file else ["save_as"])
    assert not (is_file and "returns" in tool)


@pytest.mark.parametrize(
    ("content", "choices"),
    [
        ({"application/pdf": {}, "application/json": {"schema": THING}}, ["application/json", "application/pdf"]),
        ({"text/csv": {}, "image/png": {}}, ["text/csv", "image/png"]),
        ({"application/json": {"schema": THING}, "image/*": {}}, None),
    ],
)
def test_an_answer_that_can_be_a_file_has_a_choice(tmp_path: Path, content: Any, choices: Any) -> None:
    tool = imported(tmp_path, {"responses": {"default": {"content": content}}})["tools"]["list_things"]

    assert tool["save"] == "save_as"
    accept = {"type": "string", "description": "Media type of the answer", "required": False, "header": "Accept"}
    assert tool["params"]["accept"] == accept | ({"enum": choices} if choices else {})


def test_a_default_answer_beside_a_success_is_an_error(tmp_path: Path) -> None:
    responses = {"200": answer(THING)["200"], "default": {"content": {"application/pdf": {}}}}

    assert "save" not in imported(tmp_path, {"responses": responses})["tools"]["list_things"]


@pytest.mark.parametrize(
    ("schema", "explode", "expected"),
    [
        ({"type": "array", "items": TEXT}, None, {"type": "string[]", "cookie": "c"}),
        (
            {"type": "array", "items": {"type": "integer"}},
            False,
            {"type": "integer[]", "style": "comma", "cookie": "c"},
        ),
        ({"type": "object", "properties": {"a": TEXT}}, None, {"type": "string", "cookie": "c"}),
        ({"type": "array", "items": {"type": "array", "items": TEXT}}, None, {"type": "string", "cookie": "c"}),
    ],
)
def test_a_cookie_can_be_a_list(tmp_path: Path, schema: Any, explode: Any, expected: dict[str, Any]) -> None:
    parameter = {"name": "c", "in": "cookie", "schema": schema, **({} if explode is None else {"explode": explode})}
    manifest = imported(tmp_path, {"parameters": [parameter]})

    assert manifest["tools"]["list_things"]["params"]["c"] == {**expected, "required": False}
    losses = manifest["report"]["operations"]["GET /things"]["losses"]
    assert ({"kind": "any", "detail": "c: sent as text"} in losses) is (expected["type"] == "string")


@pytest.mark.parametrize(
    "kinds",
    [
        [{"type": "string", "enum": ["now"]}, {"type": "integer"}],
        [{"type": "boolean"}, {"type": "string", "enum": ["one_off"]}],
    ],
)
def test_a_member_of_several_kinds_in_a_form_is_a_text(tmp_path: Path, kinds: list[Any]) -> None:
    schema = {"type": "object", "properties": {"end": {"anyOf": kinds}}}
    body = {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}
    manifest = imported(tmp_path, {}, paths={"/things": {"post": {"requestBody": body, "responses": {}}}})

    [tool] = manifest["tools"].values()
    assert tool["params"]["end"] == {"type": "string", "required": False}


@pytest.mark.parametrize(
    ("schema", "explode", "expected"),
    [
        ({"type": "object", "additionalProperties": TEXT}, True, {"type": "map<string>", "style": "members"}),
        ({"type": "object", "additionalProperties": True}, None, {"type": "object", "style": "members"}),
        ({"type": "object"}, True, {"type": "object", "style": "members"}),
        ({"type": "object"}, False, None),
    ],
)
def test_an_object_of_any_members_is_sent_as_parameters_of_the_query(
    tmp_path: Path, schema: Any, explode: Any, expected: Any
) -> None:
    parameter = {
        "name": "options",
        "in": "query",
        "schema": schema,
        **({} if explode is None else {"explode": explode}),
    }
    manifest = imported(tmp_path, {"parameters": [parameter]})

    params = manifest["tools"]["list_things"].get("params", {})
    assert params == ({"options": {**expected, "required": False}} if expected else {})


def test_an_options_request_is_a_tool_that_reads(tmp_path: Path) -> None:
    body = {
        "content": {"application/json": {"schema": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    }
    check = {"operationId": "preflight_upload", "requestBody": body, "responses": {}}
    manifest = imported(tmp_path, {}, paths={"/uploads": {"options": check}})

    [tool] = manifest["tools"].values()
    assert tool["http"] == "OPTIONS /uploads"
    assert tool["params"]["size"] == {"type": "integer", "body": "size", "required": False}


def test_json_in_the_query_has_its_type(tmp_path: Path) -> None:
    filters = {"type": "object", "properties": {"state": TEXT, "labels": {"type": "array", "items": TEXT}}}
    content = {"application/json": {"schema": filters}}
    manifest = imported(tmp_path, {"parameters": [{"name": "filter", "in": "query", "content": content}]})

    kind = manifest["tools"]["list_things"]["params"]["filter"]
    assert (kind["style"], manifest["types"][kind["type"]]["fields"].keys()) == ("json", {"state", "labels"})
    assert manifest["report"]["operations"]["GET /things"]["losses"] == []


@pytest.mark.parametrize(
    ("path", "parameters", "http", "params"),
    [
        (
            "/things?before={date}&all=1",
            [{"name": "date", "in": "path", "required": True, "schema": {"type": "string"}}],
            "GET /things?all=1",
            {"before": {"type": "string"}},
        ),
        (
            "/things?before={before}",
            [{"name": "before", "in": "query", "schema": {"type": "integer"}}],
            "GET /things",
            {"before": {"type": "integer", "required": False}},
        ),
        ("/things?before={before}", [], "GET /things", {"before": {"type": "string"}}),
        ("/things?all=1", [], "GET /things?all=1", None),
    ],
)
def test_a_placeholder_in_the_query_of_a_path_is_a_query_parameter(
    tmp_path: Path, path: str, parameters: Any, http: str, params: Any
) -> None:
    operation = {"operationId": "list_things", "parameters": parameters}

    tool = imported(tmp_path, {}, paths={path: {"get": operation}})["tools"]["list_things"]

    assert (tool["http"], tool.get("params")) == (http, params)


@pytest.mark.parametrize("length", [100, 3_000])
def test_a_long_chain_of_types_ends_with_any_object(tmp_path: Path, length: int) -> None:
    schemas: dict[str, Any] = {
        f"A{number}": {"type": "object", "properties": {"a": {"$ref": f"#/components/schemas/A{number + 1}"}}}
        for number in range(length)
    }
    schemas[f"A{length}"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A0"}}}}
    post = {"operationId": "add_a", "requestBody": body, "responses": answer({"$ref": "#/components/schemas/A0"})}

    manifest = imported(tmp_path, {}, paths={"/a": {"post": post}}, components={"schemas": schemas})

    assert manifest["tools"]["add_a"]["params"]["a"]["type"] in ("A1", "object")
    assert len(manifest.get("types", {})) < 70
