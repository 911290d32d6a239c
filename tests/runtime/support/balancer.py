"""A small TCP balancer: each connection goes to the next process that accepts it.

with balanced(address, other) as balancer:
    balancer.address        # http://127.0.0.1:PORT/mcp
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Balancer:
    host: str
    addresses: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://{self.host}/mcp"


def _place(address: str) -> tuple[str, int]:
    host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
    return host, int(port)


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on bytes until one end closes, then close the other: a process that is killed breaks its connections."""
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, balancer: Balancer, open_until: ExitStack) -> None:
    turns = itertools.count()
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        open_until.callback(client.close)
        places = [_place(address) for address in balancer.addresses]
        first = next(turns) % len(places)
        for place in (*places[first:], *places[:first]):
            with suppress(OSError):
                server = socket.create_connection(place, timeout=30)
                server.settimeout(None)
                open_until.callback(server.close)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()
                break
        else:
            client.close()


@contextmanager
def balancing() -> Iterator[Balancer]:
    """Start a balancer; it passes connections to the addresses that are added to it."""
    with ExitStack() as open_until, socket.create_server(("127.0.0.1", 0)) as listener:
        balancer = Balancer(f"127.0.0.1:{listener.getsockname()[1]}")
        threading.Thread(target=_serve, args=(listener, balancer, open_until), daemon=True).start()
        yield balancer
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
