"""Messages that are none, for both transports: what JSON-RPC 2.0 has to say to each is the same over either."""

from __future__ import annotations

from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


NO_JSON = [
    b"{bad",
    b"not json",
    b"\xff\xfe",
    b"1" * 5000,
    b'{"a":"\x00"}',
]
REFUSED = [
    (b"[]", None),
    (b"{}", None),
    (b"5", None),
    (b'{"jsonrpc":"2.0"}', None),
    (b'[{"jsonrpc":"2.0","id":"r","method":"ping"}]', None),
    (b'{"id":"r","method":"ping"}', "r"),
    (b'{"jsonrpc":"1.0","id":"r","method":"ping"}', "r"),
    (b'{"jsonrpc":"2.0","id":"r"}', "r"),
    (b'{"jsonrpc":"2.0","id":"r","method":5}', "r"),
    (b'{"jsonrpc":"2.0","method":5}', None),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":[]}', "r"),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":"x"}', "r"),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":{"a":%b}}' % nested(300), "r"),
    (b'{"params":{"a":%b,"id":"s"},"method":"ping","jsonrpc":"2.0","id":"r"}' % nested(300), "r"),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":{"a":NaN}}', "r"),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":{"a":"%b"}}' % (b"x" * MAX_MESSAGE_BYTES), "r"),
    (b'{"params":{"a":"%b"},"method":"ping","jsonrpc":"2.0","id":"r"}' % (b"x" * MAX_MESSAGE_BYTES), "r"),
    (b'{"jsonrpc":"2.0","id":"r","method":"ping","params":{"a":%b}}' % nested(100_000), "r"),
    (b"x" * (MAX_MESSAGE_BYTES + 1), None),
]
UNANSWERED = [
    b"",
    b" \r",
    b'{"method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[1]}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"a":%b}}' % nested(300),
    b'{"jsonrpc":"2.0","id":1,"result":5}',
    b'{"jsonrpc":"2.0","id":1,"result":{"a":%b}}' % nested(100_000),
    b'{"jsonrpc":"2.0","id":true,"result":5}',
    b'{"id":1,"error":{"code":1,"message":"x"}}',
]
