"""The real Gemini CLI, a stub of the API behind it, a home for it, and fakes of it for bad days.

`api`           the stub of the HTTP API, started: see `gemini_api`
`gemini`        the path of the real CLI, from `tests/node_modules`
`gemini_home`   a home directory with settings, and the environment to run the real CLI in, which asks `api`
`fake`          makes fake executables: `fake("gemini", answered("Hello"))`, see `fake_cli`
`project`       an empty directory to ask about
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import botocore.session
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "workbench" / "support"))
sys.path.insert(0, str(Path(__file__).parent / "support"))

from fake_cli import GEMINI_HELP, Fake, Script, make
from gemini_api import GeminiApi
from gemini_homes import KEY, Home
from redis_server import redis, redis_servers, shared_redis
from workbench_room import client, room

__all__ = ["client", "redis", "redis_servers", "room", "shared_redis"]

NODE_MODULES: Final = Path(__file__).parents[1] / "node_modules"
MakeFake = Callable[..., Fake]


@pytest.fixture(scope="session", autouse=True)
def files_of_libraries() -> Iterator[None]:
    """Let libraries read certificates and the descriptions of services once; nothing here asks a server over TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def api() -> Iterator[GeminiApi]:
    with GeminiApi() as api:
        yield api


@pytest.fixture(scope="session")
def gemini() -> str:
    path = NODE_MODULES / ".bin" / "gemini"
    assert path.exists(), "run `npm ci` in tests/ first: it brings the real CLI"
    return str(path)


@pytest.fixture
def gemini_home(api: GeminiApi, tmp_path: Path) -> Home:
    """Give a home with a key, whose settings say nothing but how to sign in."""
    path = tmp_path / "gemini-home"
    (path / ".gemini").mkdir(parents=True)
    home = Home(
        path,
        {
            "HOME": str(path),
            "USERPROFILE": str(path),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": api.url,
        },
    )
    home.settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}), encoding="utf-8")
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def fake(tmp_path: Path) -> MakeFake:
    """Make a fake: `fake(name, *scripts, version=..., help=..., probe=...)`; each has a directory of its own."""
    made: list[Fake] = []

    def build(
        name: str = "gemini",
        *scripts: Script,
        version: str = "",
        help: str = "",  # noqa: A002
        probe: Script = (),
    ) -> Fake:
        directory = tmp_path / f"fake-{len(made)}"
        directory.mkdir()
        known = ("0.61.0", GEMINI_HELP) if name == "gemini" else ("1.0.0", "")
        fake = make(directory, name, *scripts, version=version or known[0], help_text=help or known[1], probe=probe)
        made.append(fake)
        return fake

    return build
