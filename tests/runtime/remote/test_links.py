"""The header `Link` is read as RFC 8288 writes it, and in linear time, whatever an API sends."""

from __future__ import annotations

import time

import pytest
from toolmason_runtime.remote.links import next_link

HOSTILE = {
    "openings": "<",
    "closings": ">",
    "pairs": "<>",
    "links without relation": "<a>,",
    "parameters without value": "<a>;x",
    "parameters": "x=1;",
    "spaced parameters": "x = 1 ; ",
    "quoted parameters": 'x="1";',
    "semicolons": ";",
    "equal signs": "<a>;=",
    "quotes": '<a>;"',
    "quoted values": '<a>; x="b"',
    "escaped quotes": '<a>; x="\\"',
    "backslashes": '<a>; x="\\',
    "opened values": '<a>;x="',
    "white space": "<a>; rel= ",
    "tabs": "\t",
    "relations": '<a>; rel="prev next_',
    "empty links": "<>; rel=next,",
}


@pytest.mark.parametrize(
    ("header", "url"),
    [
        ('<https://a/?page=2>; rel="next"', "https://a/?page=2"),
        ("<https://a/?page=2>; rel=next", "https://a/?page=2"),
        ('<https://a/?page=2>;rel="next"', "https://a/?page=2"),
        ('  <https://a/2>  ;  REL  =  "NEXT"  ', "https://a/2"),
        ('<https://a/1>; rel="prev", <https://a/3>; rel="next"', "https://a/3"),
        ("<https://a/1>; rel=prev,<https://a/3>; rel=next,<https://a/9>; rel=last", "https://a/3"),
        ('<https://a/2>; rel="prev next"', "https://a/2"),
        ('<https://a/2>; rel="next last"', "https://a/2"),
        ('<https://a/2>; title="x, <b>; rel=prev"; rel="next"', "https://a/2"),
        ('<https://a/1>; title="a;b\\", <c>; rel=next", <https://a/2>; rel=next', "https://a/2"),
        ("<https://a/2>; title*=UTF-8''%e2%82%ac%20rates; rel=next", "https://a/2"),
        ('<https://a/x,y;z?q="1">; rel="next"', 'https://a/x,y;z?q="1"'),
        ('< https://a/2 >; rel="next"', "https://a/2"),
        ('<https://a/2>; crossorigin; rel="next"', "https://a/2"),
        ('<https://a/2>; rel="last"; rel="next"', ""),
        ('<https://a/1>; title="unbalanced, <https://a/2>; rel=next', "https://a/2"),
        ('<https://a/2>; rel="next', "https://a/2"),
        ('<>; rel="next"', ""),
        ('<>; rel="next", <https://a/2>; rel="next"', "https://a/2"),
        ('<https://a/2>; rel="next-archive"', ""),
        ('<https://a/2>; rel=""', ""),
        ('<https://a/2>; relation="next"', ""),
        ("<https://a/2>; rev=next", ""),
        ("<https://a/2", ""),
        ("https://a/2; rel=next", ""),
        ("", ""),
        ("<a>; rel=last, " * 19 + "<b>; rel=next", "b"),
        ("<a>; rel=last, " * 20 + "<b>; rel=next", ""),
        (f"<{'a' * 15_900}>; rel=next", "a" * 15_900),
        (f"<{'a' * 16_000}>; rel=next", ""),
    ],
)
def test_a_link_header_gives_the_url_of_the_next_page(header: str, url: str) -> None:
    assert next_link(header) == url


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_link_header_of_a_megabyte_takes_little_time(unit: str) -> None:
    header = unit * (1_000_000 // len(unit))
    started = time.process_time()

    next_link(header)
    next_link(f"<a>; {header}")

    assert time.process_time() - started < 2
