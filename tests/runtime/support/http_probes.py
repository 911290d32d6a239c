"""Calls of the sample's tools, and invalid bodies, which both engines over HTTP must answer alike."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from probes import META

_ARGUMENTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("count_words", {"text": "a é \U0001f600", "label": None}, {}),
    ("count_words", {"text": "a", "label": None, "limit": 1000}, {}),
    ("count_words", {"text": "\ud800", "label": None}, {}),
    ("show_client", {}, {"io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "1"}}),
    ("show_client", {}, {"io.modelcontextprotocol/clientInfo": None}),
    ("report", {}, {"progressToken": "p", "io.modelcontextprotocol/logLevel": "warning"}),
    ("report", {}, {"progressToken": 5}),
    ("report", {}, {}),
    ("crash", {}, {}),
    ("crash_together", {}, {}),
    ("odd_text", {}, {}),
    ("raw", {"big": 10**400, "float": 1e300}, {}),
    ("show_state", {}, {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}),
    ("roots", {}, {}),
    ("open_page", {}, {}),
]
"""Names, arguments and further members of `_meta`."""
CALLS: list[tuple[str, Any]] = [
    ("tools/call", {"name": name, "arguments": arguments, "_meta": {**META, **meta}})
    for name, arguments, meta in _ARGUMENTS
]
ODD_BODIES = [
    b"",
    b"[]",
    b"{}",
    b"{",
    b"5",
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}',
    b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": true, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
