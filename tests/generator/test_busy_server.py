"""A generated server in a process of its own, with patterns that keep Python's `re` busy: it answers, and it ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from oracle import LEGACY
from stdio_peer import Peer, talking

from toolmason.commands import toolmason

MANIFEST = r"""
edition = 1

[server]
name = "slugs"
package = "slugs_server"
handlers = "slugs"

[categories.slugs]
summary = "Check slugs"

[tools.p_one]
summary = "Check a slug with a model"
category = "slugs"
description = "Check a slug with a model. Gives it back as it is."
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "slugs:give"
params.x = { type = "string", description = "d", pattern = "^([a-z0-9]+-?)+$", required = false }
params.slow = { type = "string", description = "d", pattern = "^(?=(a|aa)+$)", required = false }

[tools.p_raw]
summary = "Check slugs with a raw schema"
category = "slugs"
description = "Check slugs with a raw schema. Gives them back as they are."
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "slugs:give_raw"

[tools.p_raw.input_schema]
type = "object"
properties.x = { type = "string", pattern = "^([a-z0-9]+-?)+$" }
properties.names = { type = "object", propertyNames = { pattern = "^([a-z0-9]+-?)+$" } }

[tools.p_raw.input_schema.properties.closed]
type = "object"
patternProperties = { "^([a-z0-9]+-?)+$" = { type = "integer" } }
additionalProperties = false

[[tools.p_raw.examples]]
description = "A name that keeps Python busy"
arguments = { closed = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-a" = 1 } }

[tools.stuck]
summary = "Match for ever"
category = "slugs"
description = "Match for ever. Nothing ends it but a signal."
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "slugs:stuck"
"""
HANDLERS = """
import re
import sys


async def give(params, call):
    return params.x or params.slow


async def give_raw(params, call):
    return str(params)


async def stuck(params, call):
    print("matching", file=sys.stderr, flush=True)
    re.match("^(a+)+$", "a" * 100 + "b")
    return "never"
"""
HOSTILE = "a" * 40 + "!"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the project, with the server generated."""
    folder = tmp_path_factory.mktemp("slugs")
    for place, text in (("manifest/slugs.toml", MANIFEST), ("handlers/slugs/slugs.py", HANDLERS)):
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_text(text, encoding="utf-8")
    (folder / "handlers/slugs/__init__.py").touch()
    ran = CliRunner().invoke(toolmason, ["generate", "--manifest", str(folder / "manifest" / "slugs.toml")])
    assert ran.exit_code == 0, ran.output
    return folder


@pytest.fixture
def environment(server: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(server / "generated"), str(server / "handlers"), *sys.path])}


COMMAND = (sys.executable, "-m", "slugs_server", "--classic", "--all")


def complaint(peer: Peer, tool: str, **arguments: object) -> str:
    """Call a tool, then ask something else, as a server that is busy could not answer."""
    result = peer.call(tool, arguments)
    assert result["isError"] is True
    assert peer.call("p_one", {"x": "fine"})["content"][0]["text"] == "fine"
    return str(result["content"][0]["text"]).splitlines()[0]


def test_no_argument_keeps_the_server_from_answering(environment: dict[str, str]) -> None:
    with talking(LEGACY, command=COMMAND, env=environment) as peer:
        said = [
            complaint(peer, "p_one", x=HOSTILE),
            complaint(peer, "p_raw", x=HOSTILE),
            complaint(peer, "p_raw", names={HOSTILE: 1}),
            complaint(peer, "p_raw", closed={HOSTILE: 1}),
            complaint(peer, "p_one", slow="a" * 100 + "b"),
        ]

    must = f"Argument 'x' must be a string that matches ^([a-z0-9]+-?)+$; got \"{HOSTILE}\""
    assert said[:2] == [must, must]
    assert "does not match" in said[2]
    assert "unexpected" in said[3]
    assert said[4] == "Argument 'slow' could not be matched with ^(?=(a|aa)+$) in time; send a shorter value"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_ends_a_server_whose_interpreter_is_busy(environment: dict[str, str], number: int) -> None:
    with talking(LEGACY, command=COMMAND, env=environment) as peer:
        peer.send("tools/call", name="stuck", arguments={})
        peer.wait_for_stderr(b"matching\n")
        peer.process.send_signal(number)

        assert peer.exit_status() == 1
        assert peer.stderr() == "matching\n"
