"""Requests are built from arguments alone; settings from the environment."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.apis.pagination import joined, next_link, next_request, outline
from toolmason_runtime.apis.request import Request, build_request, join_url, with_query
from toolmason_runtime.apis.settings import load_settings
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import Api, Auth, HttpTool, Pagination, Place, Placement

BASE = "https://api.example.com/v1/"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def tool(path: str = "/x", *placements: Placement, method: str = "GET", **options: Any) -> HttpTool:
    api = Api(name="api", base_url=BASE)
    return HttpTool(name="t", api=api, method=method, path=path, placements=placements, **options)


def placed(name: str, place: Place, **options: Any) -> Placement:
    return Placement(**{"name": name, "place": place, "key": name, **options})


UPLOADS: dict[str, tuple[str, bytes, bytes]] = {
    "a text": ("a;b\n", b"application/octet-stream", b"a;b\n"),
    "an image": ("data:image/png;base64,iVBORwD/", b"image/png", b"\x89PNG\x00\xff"),
    "without a type": ("data:;base64,AP8=", b"application/octet-stream", b"\x00\xff"),
    "with a parameter": ("data:text/plain;charset=utf-16;base64,//4=", b"text/plain", b"\xff\xfe"),
    "an archive": ("data:application/vnd.x+zip;base64,UEsD", b"application/vnd.x+zip", b"PK\x03"),
    "empty": ("data:a/b;base64,", b"a/b", b""),
    "a URI that is not in base64": ("data:text/plain,a", b"application/octet-stream", b"data:text/plain,a"),
    "a text with a URI": ("see data:a/b;base64,AA==", b"application/octet-stream", b"see data:a/b;base64,AA=="),
    "a type over two lines": (
        "data:a/b\r\nX: y;base64,AA==",
        b"application/octet-stream",
        b"data:a/b\r\nX: y;base64,AA==",
    ),
}


@pytest.mark.parametrize(("sent", "media", "content"), UPLOADS.values(), ids=UPLOADS)
def test_a_file_of_a_form_is_a_text_or_a_data_uri(sent: str, media: bytes, content: bytes) -> None:
    upload = tool("/x", placed("f", Place.BODY, format="binary"), method="POST", body="multipart")
    body = build_request(upload, {"f": sent}, BASE).content or b""

    assert b"\r\nContent-Type: " + media + b"\r\n\r\n" + content + b"\r\n--" in body


def test_a_data_uri_with_broken_base64_is_refused() -> None:
    upload = tool("/x", placed("f", Place.BODY, format="binary"), method="POST", body="multipart")

    with pytest.raises(ToolError, match="`f` must be base64"):
        build_request(upload, {"f": "data:a/b;base64,AAA"}, BASE)


def test_a_data_uri_in_a_field_without_a_file_stays_text() -> None:
    upload = tool("/x", placed("f", Place.BODY), method="POST", body="multipart")

    assert b"data:a/b;base64,AA==" in (build_request(upload, {"f": "data:a/b;base64,AA=="}, BASE).content or b"")


@given(TEXTS.filter(bool), TEXTS)
def test_a_path_value_is_one_segment_and_a_query_value_one_pair(segment: str, value: str) -> None:
    request_tool = tool("/a/{p}/b?fixed=1", placed("p", Place.PATH), placed("q", Place.QUERY))
    try:
        request = build_request(request_tool, {"p": segment, "q": value}, BASE)
    except ToolError:
        assert {".", ".."} & set(segment.replace("\\", "/").split("/"))
        return

    parts = urlsplit(request.url)
    assert parts.netloc == "api.example.com"
    assert [unquote(part) for part in parts.path.split("/")] == ["", "v1", "a", segment, "b"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("fixed", "1"), ("q", value)]
    assert parts.fragment == ""
    assert request.url.isascii()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/订单/{p}", "/%E8%AE%A2%E5%8D%95/a%2Fb"),
        ("/الطلبات/{p}", "/%D8%A7%D9%84%D8%B7%D9%84%D8%A8%D8%A7%D8%AA/a%2Fb"),
        ("/Größe", "/Gr%C3%B6%C3%9Fe"),
        ("/caf%C3%A9/{p}?größe=1&k=%7C", "/caf%C3%A9/a%2Fb?gr%C3%B6%C3%9Fe=1&k=%7C"),
        ("/odata/Orders('{p}')/$count", "/odata/Orders('a%2Fb')/$count"),
        ("/v1/{p}:cancel;x=1,2@home", "/v1/a%2Fb:cancel;x=1,2@home"),
    ],
)
def test_a_path_in_any_script_is_sent_in_ascii(path: str, sent: str) -> None:
    request = build_request(tool(path, placed("p", Place.PATH)), {"p": "a/b"}, "https://api.example.com/ü")

    assert request.url == f"https://api.example.com/%C3%BC{sent}"


@pytest.mark.parametrize(
    ("style", "value", "query"),
    [
        ("form", ["a", "b c"], "k=a&k=b%20c"),
        ("comma", ["a,b", 1], "k=a%2Cb,1"),
        ("space", ["a", "b"], "k=a%20b"),
        ("pipe", ["a", "b"], "k=a%7Cb"),
        ("deepObject", {"a": 1, "b": {"c": True}, "d": None}, "k%5Ba%5D=1&k%5Bb%5D%5Bc%5D=true"),
        ("deepObject", ["x", {"a": [1]}], "k%5B0%5D=x&k%5B1%5D%5Ba%5D%5B0%5D=1"),
        (
            "members",
            {"a&b": "c d", "list": [1, True], "no": None, "in": {"a": 1}},
            "a%26b=c%20d&list=1&list=true&in=%7B%22a%22%3A%201%7D",
        ),
        ("members", {}, ""),
        ("json", {"a": [1, "é"]}, "k=%7B%22a%22%3A%5B1%2C%22%C3%A9%22%5D%7D"),
        ("json", ["a"], "k=%5B%22a%22%5D"),
        ("json", "a", "k=%22a%22"),
        ("form", 2.0, "k=2"),
        ("form", False, "k=false"),
        ("form", "", "k="),
        ("form", [], ""),
        ("form", None, ""),
    ],
)
def test_a_query_value_has_the_form_of_its_style(style: Any, value: Any, query: str) -> None:
    request = build_request(tool("/x", placed("k", Place.QUERY, style=style)), {"k": value}, BASE)

    assert request.url == f"https://api.example.com/v1/x{'?' if query else ''}{query}"


def test_absent_values_have_their_defaults_and_an_empty_one_of_the_path_is_refused() -> None:
    placements = (
        placed("p", Place.PATH, default="main"),
        placed("q", Place.QUERY),
        placed("b", Place.BODY, nullable=True),
        placed("c", Place.BODY, default=3),
        placed("d", Place.BODY),
    )
    nulls = dict.fromkeys("pqbcd")
    request = build_request(tool("/{p}", *placements, method="PATCH"), nulls, BASE)

    assert (request.url, request.content) == ("https://api.example.com/v1/main", b'{"b":null,"c":3}')
    with pytest.raises(ToolError, match="`p` is part of the URL and must not be empty"):
        build_request(tool("/{p}", *placements), {"p": ""}, BASE)
    assert build_request(tool("/f/{+p}", placed("p", Place.PATH)), {"p": ""}, BASE).url.endswith("/f/")
    assert build_request(tool("/f/{+p}", placed("p", Place.PATH)), {"p": "a/b?c"}, BASE).url.endswith("/f/a/b%3Fc")


def test_a_write_without_body_arguments_sends_an_object_only_if_it_has_members() -> None:
    assert build_request(tool(method="POST"), {}, BASE).content is None
    assert build_request(tool("/x", placed("b", Place.BODY), method="POST"), {}, BASE).content == b"{}"
    whole = placed("b", Place.BODY, key=".")
    assert build_request(tool("/x", whole, method="POST"), {}, BASE).content is None
    assert build_request(tool("/x", whole, method="POST"), {"b": [1]}, BASE).content == b"[1]"


def test_a_form_repeats_arrays_and_writes_objects_with_brackets() -> None:
    placements = (placed("a", Place.BODY), placed("b", Place.BODY, style="deepObject"), placed("c", Place.BODY))
    request_tool = tool("/x", *placements, method="POST", body="form")

    request = build_request(request_tool, {"a": ["x y", 2], "b": {"c": [True]}}, BASE)

    assert request.content == b"a=x%20y&a=2&b%5Bc%5D%5B0%5D=true"


@pytest.mark.parametrize(
    ("style", "value", "content"),
    [
        ("comma", ["a", "b,c"], b"k=a,b%2Cc"),
        ("space", ["a", "b"], b"k=a%20b"),
        ("pipe", ["a", "b"], b"k=a%7Cb"),
        ("json", {"a": [1]}, b"k=%7B%22a%22%3A%5B1%5D%7D"),
    ],
)
def test_a_form_has_the_styles_of_a_query(style: Any, value: Any, content: bytes) -> None:
    request_tool = tool("/x", placed("k", Place.BODY, style=style), method="POST", body="form")

    assert build_request(request_tool, {"k": value}, BASE).content == content


def test_a_part_of_a_multipart_body_can_be_json() -> None:
    request_tool = tool("/x", placed("k", Place.BODY, style="json"), method="POST", body="multipart")

    content = build_request(request_tool, {"k": [{"a": 1}, 2]}, BASE).content or b""

    assert content.count(b"Content-Disposition") == 1
    assert b'name="k"\r\nContent-Type: application/json\r\n\r\n[{"a":1},2]\r\n' in content


@pytest.mark.parametrize(
    ("style", "value", "cookie"),
    [
        ("form", "a b", "k=a%20b"),
        ("form", ["a", 2], "k=a; k=2"),
        ("comma", ["a;", "b"], "k=a%3B,b"),
        ("form", [], None),
    ],
)
def test_a_cookie_is_repeated_or_joined(style: Any, value: Any, cookie: str | None) -> None:
    request = build_request(tool("/x", placed("k", Place.COOKIE, style=style)), {"k": value}, BASE)

    assert request.headers.get("cookie") == cookie


@given(st.dictionaries(st.sampled_from("ab"), TEXTS), TEXTS)
def test_one_query_parameter_is_replaced_and_the_others_stay(pairs: dict[str, str], value: str) -> None:
    url = "https://api.example.com/x"
    for name, text in pairs.items():
        url = with_query(url, name, text)

    changed = dict(parse_qsl(urlsplit(with_query(url, "a", value)).query, keep_blank_values=True))

    assert changed == {**pairs, "a": value}
    assert "a" not in dict(parse_qsl(urlsplit(with_query(url, "a", None)).query, keep_blank_values=True))


@given(st.text(max_size=60), TEXTS)
def test_any_link_header_or_location_becomes_an_ascii_url_or_none(header: str, location: str) -> None:
    assert isinstance(next_link(header), str)
    assert join_url(BASE, location).isascii()


def test_a_page_that_links_to_itself_is_the_last_one() -> None:
    request = Request(method="GET", url=f"{BASE}items?c=1")
    by_link, by_cursor = Pagination(next="next", items="data"), Pagination(cursor="c", param="c", items="data")

    following = next_request(by_link, request, {"next": "?c=2"}, url=request.url, headers={})

    assert following is not None
    assert following.url == f"{BASE}items?c=2"
    assert next_request(by_link, request, {"next": "?c=1"}, url=request.url, headers={}) is None
    assert next_request(by_link, request, {"next": 7}, url=request.url, headers={}) is None
    assert next_request(by_cursor, request, {"c": 1}, url=request.url, headers={}) is None
    assert next_request(by_cursor, request, {"c": True}, url=request.url, headers={}) is None
    assert joined(Pagination(next="n", items="a.b"), [{"a": {"b": [1]}}, {"a": None}]) == {"a": {"b": [1]}}


PAGES: dict[str, tuple[Pagination, str, Any, str]] = {
    "an offset": (Pagination(offset="skip"), "", [1, 2], "skip=2"),
    "a further offset": (Pagination(offset="skip"), "skip=40", [1, 2], "skip=42"),
    "an offset from 1": (Pagination(offset="start", first=1), "", [1, 2], "start=3"),
    "an offset after the last item": (Pagination(offset="skip"), "skip=40", [], ""),
    "a page from 0": (Pagination(page="page", first=0), "", [1], "page=1"),
    "a page from 1": (Pagination(page="page"), "", [1], "page=2"),
    "the last item": (Pagination(last="id", param="after"), "", [{"id": "a"}, {"id": "b"}], "after=b"),
    "a member inside of the last item": (Pagination(last="a.id", param="after"), "", [{"a": {"id": 7}}], "after=7"),
    "no last item": (Pagination(last="id", param="after"), "after=b", [], ""),
    "a last item without the member": (Pagination(last="id", param="after"), "", ["a"], ""),
    "more": (Pagination(page="p", items="d", more="m.more"), "", {"d": [1], "m": {"more": True}}, "p=2"),
    "nothing about more": (Pagination(page="p", items="d", more="m.more"), "", {"d": [1]}, "p=2"),
    "no more": (Pagination(offset="o", items="d", more="m.more"), "", {"d": [1], "m": {"more": False}}, ""),
    "a last item and no more": (
        Pagination(last="id", param="after", items="data", more="has_more"),
        "",
        {"data": [{"id": "a"}], "has_more": False},
        "",
    ),
}


@pytest.mark.parametrize(("pagination", "query", "page", "following"), PAGES.values(), ids=PAGES)
def test_the_next_page_follows_from_the_items(pagination: Pagination, query: str, page: Any, following: str) -> None:
    url = f"{BASE}items" + (f"?{query}" if query else "")
    request = Request(method="GET", url=url)

    for shown in (page, outline(pagination, page)):
        found = next_request(pagination, request, shown, url=url, headers={})
        assert (found.url.partition("?")[2] if found else "") == following


@pytest.mark.parametrize("auth", [{"bearer": "$A"}, {"basic": "$A:$B"}, {"query": "k", "value": "$A"}])
def test_an_optional_credential_is_sent_if_its_variables_are_set(auth: dict[str, str]) -> None:
    api = Api(name="api", base_url=BASE, auth=Auth(**auth, optional=True))
    request = Request(method="GET", url=f"{BASE}x")
    plain = ["accept", "user-agent"]

    without, with_it = load_settings(api, {"B": "b"}), load_settings(api, {"A": "a", "B": "b"})

    assert ([*without.signed(request).headers], without.signed(request).url) == (plain, request.url)
    signed = with_it.signed(request)
    assert "authorization" in signed.headers or signed.url == f"{BASE}x?k=a"


def test_credentials_come_from_the_environment_and_all_their_forms_are_masked() -> None:
    environ = {"USER_NAME": "octocat", "PASSWORD": 'pa"ss/word', "HEADER": "t0ken-in-a-header"}
    api = Api(name="api", base_url=BASE, headers={"X-A": "token $HEADER"}, auth=Auth(basic="$USER_NAME:$PASSWORD"))

    settings = load_settings(api, environ)

    encoded = base64.b64encode(b'octocat:pa"ss/word').decode()
    assert settings.credentials == {"authorization": f"Basic {encoded}"}
    texts = [*environ.values(), encoded, json.dumps(environ["PASSWORD"]), "pa%22ss%2Fword"]
    assert [settings.mask(text) for text in texts] == ["octocat", *["[secret]"] * 3, '"[secret]"', "[secret]"]


def test_a_variable_in_the_path_of_the_address_is_a_secret_and_one_in_its_host_is_not() -> None:
    environ = {"WHERE": "https://tenant", "BOT": "12345:AAbb"}

    settings = load_settings(Api(name="api", base_url="$WHERE.example.com/bot$BOT"), environ)

    assert settings.base_url == "https://tenant.example.com/bot12345:AAbb"
    assert settings.mask(settings.base_url) == "https://tenant.example.com/bot[secret]"


@pytest.mark.parametrize(
    ("base_url", "token", "problem"),
    [
        ("$URL", "x", "its `base_url` must be a URL such as https://host/path"),
        ("https://user:pass@host/", "x", "its `base_url` must be a URL"),
        ("https://host/?a=1", "x", "its `base_url` must be a URL"),
        ("https://host/", "a\nb", "a setting contains a line break or a control character"),
        ("https://host/", "ä", "a header is not ASCII"),
        ("https://host/", "", "environment variable TOKEN, used by the API `api`, is not set"),
    ],
)
def test_a_setting_that_cannot_be_used_is_reported_without_its_value(base_url: str, token: str, problem: str) -> None:
    api = Api(name="api", base_url=base_url, auth=Auth(bearer="$TOKEN"))

    with pytest.raises(ToolError, match="This tool is not set up") as raised:
        load_settings(api, {"TOKEN": token, "URL": "ftp://secret-host"})

    assert problem in raised.value.message
    assert "secret-host" not in raised.value.message
