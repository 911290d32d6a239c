"""The flag `--http` of a server's command: one process, or a supervisor of several."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolmason_runtime.server.asgi import authorize, http_server
from toolmason_runtime.server.memory import limit_arenas
from toolmason_runtime.server.workers import run_workers, this_worker
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.transports import http
from toolmason_runtime.transports.bearer_token import own_token, read_token
from toolmason_runtime.transports.http_access import AccessError
from toolmason_runtime.transports.http_app import Extras
from toolmason_runtime.transports.http_settings import HttpSettings, http_settings, variable
from toolmason_runtime.transports.open_access import is_loopback, needs_token, obstacle, opened
from toolmason_runtime.transports.shutdown import Shutdown

_log = logging.getLogger(__name__)


def serve_http(
    make_dispatcher: Callable[[], Any],
    catalogue: Catalogue,
    flags: Mapping[str, Any],
    *,
    prog: str,
    shutdown: Shutdown,
    hooks: Mapping[str, Callable[..., Any]],
) -> int:
    """Serve until a signal arrives; return the exit code.

    Args:
        make_dispatcher: returns what answers the requests.
        catalogue: the tools and settings of the server.
        flags: the command line.
        prog: name of the command.
        shutdown: handles the signals.
        hooks: `routes` and `middleware` of the author, as far as there are any.

    Raises:
        AccessError: the settings are invalid.
        OSError: the address is not available.
    """
    settings = http_settings(prog, flags)
    host, port, count = flags["host"], flags["port"], flags["workers"]
    is_remote = not is_loopback(host)
    if is_remote and not settings.allowed_hosts:
        raise AccessError(
            f"--host {host} is reachable from other machines: list the host names of the server with"
            " --allow-host NAME; clients need the bearer token of --token-file FILE, or of the file created for it"
        )
    has_auth = "auth" in catalogue["server"]
    is_created = is_remote and not (has_auth or settings.is_open)
    token, note = _token(prog, settings.token_file, is_created=is_created)
    worker = this_worker() if count > 1 else None
    if not (token or has_auth):
        _check_access(prog, host, settings, is_logged=worker is None)
    if count > 1 and worker is None:
        return _supervise(count, (host, port), catalogue, variable(prog, "STATE_KEY"), note=note, shutdown=shutdown)
    if worker is not None:
        worker.end_with_supervisor()
    limit_arenas()
    http.serve(
        lambda: http_server(make_dispatcher(), settings),
        shutdown,
        host=host,
        port=port,
        allowed_hosts=settings.allowed_hosts,
        allowed_origins=settings.allowed_origins,
        token=token,
        authorize=authorize(catalogue, _auth_flags(flags), token),
        is_open=settings.is_open,
        note=note,
        extras=Extras(**hooks, max_requests=settings.max_requests, max_client_requests=settings.max_client_requests),
        state_keys=settings.state_keys,
        max_client_sessions=settings.max_client_sessions,
        listener=worker.listener if worker else None,
        is_lean=settings.is_lean,
    )
    return 0


def _check_access(prog: str, host: str, settings: HttpSettings, *, is_logged: bool) -> None:
    """Allow a server without a token on loopback alone, or with the variable that opens it.

    Raises:
        AccessError: clients of other machines may reach the server.
    """
    open_variable = variable(prog, "OPEN")
    reason = obstacle(host, settings.allowed_hosts, settings.allowed_origins)
    if reason and not settings.is_open:
        raise AccessError(needs_token(reason, variable(prog, "TOKEN_FILE"), open_variable))
    if settings.is_open and is_logged:
        _log.warning("%s", opened(open_variable))


def _auth_flags(flags: Mapping[str, Any]) -> dict[str, str | None]:
    return {name.removeprefix("auth_"): value for name, value in flags.items() if name.startswith("auth_")}


def _supervise(
    count: int, place: tuple[str, int], catalogue: Catalogue, state_key: str, *, note: str, shutdown: Shutdown
) -> int:
    if sys.platform == "win32":
        raise AccessError("--workers needs Unix; on Windows, start several servers behind a balancer")
    with http.listen(*place) as listener:
        url = http.address(place[0], listener.getsockname()[1])
        print(f"serving MCP at {url}{note}", file=sys.stderr, flush=True)  # noqa: T201  for the user
        store = catalogue["server"].get("chunk_store", "")
        if not (store and os.environ.get(store)):
            setting = f"set {store} to the URL of a Redis" if store else "`chunk_store` in the manifest shares them"
            _log.warning(
                "each worker stores its own long texts, and `fetch_chunk` fails in another worker: %s", setting
            )
        return run_workers(count, listener, shutdown, state_key_variable=state_key)


def _token(prog: str, path: str, *, is_created: bool) -> tuple[str, str]:
    """Return the bearer token, empty if none is needed, and a note with the path of a created file.

    Raises:
        AccessError: the file is invalid, or cannot be read or created.
    """
    if path:
        return read_token(Path(path)), ""
    if not is_created:
        return "", ""
    token, file = own_token(prog)
    return token, f" (bearer token in {file})"
