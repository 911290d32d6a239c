"""Incidents: each is a script against a running server, and questions that are answered from its audit log alone."""

from __future__ import annotations

import getpass
import json
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from issuer import make_key
from ledger_process import Fields, Http, Ledger, Trail
from oracle import LEGACY, MODERN
from stdio_peer import Peer

SECRET = "hunter2-of-the-ledger"
FORMS: dict[str, Any] = {"elicitation": {}}
ACCEPT, DECLINE = {"action": "accept", "content": {}}, {"action": "decline"}

if sys.platform == "win32":
    pytest.skip("one process writes a log on Windows", allow_module_level=True)


@dataclass
class Desk:
    """A server over stdio with a person at the client, who answers with `reply`."""

    peer: Peer
    trail: Trail
    capsys: pytest.CaptureFixture[str]

    def call(self, tool: str, reply: dict[str, Any] = ACCEPT, /, **arguments: Any) -> dict[str, Any]:
        self.peer.answers["elicitation/create"] = lambda _: reply
        return self.peer.response(self.peer.send("tools/call", name=tool, arguments=arguments))

    def read(self, *arguments: str) -> list[Fields]:
        return self.trail.read(self.capsys, *arguments)


@pytest.fixture
def desk(stdio_desk: tuple[Peer, Trail], capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(*stdio_desk, capsys)


@pytest.fixture(scope="module")
def stdio_desk(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Peer, Trail]]:
    trail = Trail(tmp_path_factory.mktemp("stdio") / "audit.jsonl")
    with ledger.stdio(trail, capabilities=FORMS) as peer:
        yield peer, trail


@pytest.fixture(scope="module")
def http_desk(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Http, Trail]]:
    trail = Trail(tmp_path_factory.mktemp("http") / "audit.jsonl")
    with ledger.http(trail) as http:
        yield http, trail


def only(lines: list[Fields]) -> Fields:
    assert len(lines) == 1, lines
    return lines[0]


def shown(line: Fields, *names: str) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in names)


# Who did it, and who allowed it?


def test_a_push_with_its_caller_and_approver(desk: Desk) -> None:
    desk.call("push", branch="main")

    push = only(desk.read("--event", "call", "--tool", "push", "--arguments", '{"branch":"main"}'))
    approval = only(desk.read("--event", "approval", "--id", push["call"]))
    assert shown(push, "client", "transport", "kind", "outcome", "approval") == (
        *("editor", "stdio", "program", "ok"),
        "approved",
    )
    assert shown(approval, "decision", "surface", "os_user", "risk") == (
        *("approved", "client", getpass.getuser()),
        "write",
    )
    assert approval["subject"] == push["subject"]
    assert approval["time"] <= push["time"]


def test_a_push_that_the_user_declined_did_not_run(desk: Desk) -> None:
    desk.call("push", DECLINE, branch="declined")

    refusal = only(desk.read("--arguments", '{"branch":"declined"}'))
    assert shown(refusal, "event", "decision", "rule", "approval") == (
        *("refusal", "denied", "NOT_APPROVED"),
        "declined",
    )
    assert only(desk.read("--id", refusal["call"], "--event", "approval"))["decision"] == "declined"


def test_a_client_without_elicitation_got_no_approval(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.stdio(trail, name="batch") as peer:
        peer.call("push", {"branch": "main"})

    refusal = only(trail.read(capsys, "--event", "refusal", "--client", "batch"))
    assert shown(refusal, "rule", "approval") == ("APPROVAL_UNAVAILABLE", "unavailable")


def test_a_push_without_a_person_was_approved_by_a_flag(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.stdio(trail, "--headless-approve") as peer:
        peer.call("push", {"branch": "main"})

    assert only(trail.read(capsys, "--event", "approval"))["surface"] == "headless"


# What did the rules refuse?


def test_the_policy_refused_an_approval_flag(desk: Desk) -> None:
    desk.call("push", branch="main", force=True)

    refusal = only(desk.read("--rule", "POLICY", "--tool", "push"))
    assert shown(refusal, "event", "decision", "outcome", "kind") == ("refusal", "denied", "refused", "program")
    assert desk.read("--event", "approval", "--id", refusal["call"]) == []


def test_the_same_refused_arguments_were_tried_again(desk: Desk) -> None:
    for _ in range(3):
        desk.call("push", branch="again", force=True)

    digest = desk.read("--arguments", '{"branch": "again", "force": true}')[0]["args_digest"]
    counted = desk.read("--rule", "POLICY", "--count", "args_digest")
    assert {"args_digest": digest, "count": 3} in counted


def test_a_model_guessed_names_of_tools(desk: Desk) -> None:
    for name in ("drop_tables", "rm_rf", "sudo"):
        desk.call(name)

    guesses = desk.read("--rule", "UNKNOWN_TOOL")
    assert {"drop_tables", "rm_rf", "sudo"} <= {line["tool"] for line in guesses}


def test_a_hidden_tool_was_called_directly(desk: Desk) -> None:
    desk.call("close_year", text="2020")

    assert only(desk.read("--tool", "close_year", "--rule", "NOT_LISTED"))["decision"] == "denied"


def test_call_read_was_misused_for_a_tool_that_writes(desk: Desk) -> None:
    desk.call("call_read", tool_name="close_year", args={"text": "2021"})

    refusal = only(desk.read("--rule", "NOT_READ_ONLY"))
    assert shown(refusal, "tool", "via") == ("close_year", "call_read")


def test_a_tool_was_called_by_its_old_name(desk: Desk) -> None:
    desk.call("call", tool_name="add_entry", args={"text": "old name"})
    desk.call("record_entry", text="direct")

    by_meta = only(desk.read("--arguments", '{"text": "old name"}'))
    direct = only(desk.read("--arguments", '{"text": "direct"}'))
    assert shown(by_meta, "tool", "alias", "via", "outcome") == ("record_entry", "add_entry", "call", "ok")
    assert shown(direct, "tool", "via", "outcome") == ("record_entry", None, "ok")


def test_deprecated_arguments_are_named_without_their_values(desk: Desk) -> None:
    desk.call("list_entries", word="a")
    desk.call("list_entries", pattern="value-of-an-argument")
    desk.call("call_read", tool_name="list_entries", args={"regex": "value-of-an-argument"})
    desk.call("list_entries", year="value-of-an-argument", pattern="x")

    lines = desk.read("--tool", "list_entries")[-4:]
    assert [line.get("deprecated_arguments") for line in lines] == [
        None,
        ["pattern"],
        ["pattern"],
        ["pattern", "year"],
    ]
    assert [line["outcome"] for line in lines] == ["ok", "ok", "ok", "refused"]
    assert "value-of-an-argument" not in str(lines)


def test_a_tool_that_the_policy_disables_was_called(desk: Desk) -> None:
    desk.call("retired")
    desk.call("call", tool_name="retired", args={})

    refusals = desk.read("--tool", "retired", "--event", "refusal")
    assert [line["outcome"] for line in refusals] == ["refused", "refused"]


def test_arguments_were_invalid(desk: Desk) -> None:
    desk.call("record_entry", text=["no", "text"])

    refusal = only(desk.read("--rule", "INVALID_ARGUMENT", "--tool", "record_entry"))
    assert refusal["args_bytes"] == len('{"text":["no","text"]}')


@pytest.mark.parametrize("engine", ["lean", "sdk"])
def test_an_approval_was_replayed_for_other_arguments(ledger: Ledger, trail: Trail, capsys: Any, engine: str) -> None:
    with ledger.stdio(trail, "--engine", engine, version=MODERN, capabilities=FORMS) as peer:
        asked = peer.call("push", {"branch": "topic"})
        key = next(iter(asked["inputRequests"]))
        answers = {"inputResponses": {key: ACCEPT}, "requestState": asked["requestState"]}
        replayed = peer.response(peer.send("tools/call", name="push", arguments={"branch": "main"}, **answers))
        allowed = peer.call("push", {"branch": "topic"}, **answers)

    assert "error" in replayed
    assert not allowed.get("isError")
    first, refusal, approval, second = trail.read(capsys, "--tool", "push")
    assert shown(refusal, "event", "rule") == ("refusal", "REQUEST_STATE")
    assert refusal["args_digest"] != first["args_digest"] == second["args_digest"]
    assert shown(first, "outcome") == ("input_required",)
    assert shown(approval, "event", "decision", "call") == ("approval", "approved", second["call"])


def test_a_request_without_a_name_was_refused(desk: Desk) -> None:
    desk.peer.response(desk.peer.send("tools/call", name={"a": "b" * 5000}, arguments={}))

    assert only(desk.read("--rule", "INVALID_REQUEST")).get("tool") is None


def test_a_prompt_was_read(desk: Desk) -> None:
    desk.peer.result("prompts/get", name="audit_year", arguments={"year": SECRET})

    counted = desk.read("--event", "call", "--count", "method,prompt,outcome")
    assert {"method": "prompts/get", "prompt": "audit_year", "outcome": "ok", "count": 1} in counted
    assert SECRET not in desk.trail.text()


# What went wrong?


def test_a_bug_of_the_server_ended_a_call(desk: Desk) -> None:
    desk.call("fail")

    assert shown(only(desk.read("--tool", "fail")), "event", "outcome", "code") == ("call", "internal", "INTERNAL")


def test_an_upstream_crashed(desk: Desk) -> None:
    desk.call("relay")

    call = only(desk.read("--tool", "relay", "--event", "call"))
    assert shown(call, "kind", "outcome", "code") == ("upstream", "error", "UPSTREAM_ENDED")


def test_a_program_took_too_long(desk: Desk) -> None:
    desk.call("stall")

    call = only(desk.read("--outcome", "timeout"))
    assert shown(call, "tool", "kind") == ("stall", "program")
    assert call["duration_ms"] >= 1000


def test_a_client_cancelled_a_call(desk: Desk) -> None:
    number = desk.peer.send("tools/call", name="wait", arguments={}, meta={"progressToken": 1})
    desk.peer.notification()
    desk.peer.notify("notifications/cancelled", requestId=number)
    desk.call("list_entries")

    call = only(desk.read("--outcome", "cancelled"))
    assert shown(call, "tool", "request") == ("wait", number)


def test_a_server_was_killed_and_started_again(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.stdio(trail, exit_status=-signal.SIGKILL) as killed:
        killed.call("list_entries")
        killed.process.kill()
    with ledger.stdio(trail) as peer:
        peer.call("list_entries")

    lines = trail.read(capsys)
    starts = [line for line in lines if line["event"] == "start"]
    stops = [line for line in lines if line["event"] == "stop"]
    assert len({line["instance"] for line in starts}) == 2
    assert [line["instance"] for line in stops] == [starts[1]["instance"]]
    assert starts[0]["os_user"] == getpass.getuser()


# Can the log be trusted, and shared?


def test_no_line_contains_secrets_of_arguments_or_of_the_server(desk: Desk) -> None:
    desk.call("record_entry", text=SECRET)
    desk.call("push", branch=SECRET)
    desk.call("list_entries", word=SECRET, other=SECRET)

    assert len(desk.read("--arguments", json.dumps({"text": SECRET}))) == 1
    assert SECRET not in desk.trail.text()
    assert "a secret of the server" not in desk.trail.text()


def test_the_name_of_a_client_cannot_forge_a_line(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    name = 'x"}\n{"time":"2026-01-01T00:00:00.000Z","event":"call","tool":"forged"}\n\u202e\x1b[2J' + "y" * 500
    with ledger.stdio(trail, name=name) as peer:
        peer.call("list_entries")

    lines = trail.read(capsys)
    assert [line["event"] for line in lines] == ["start", "call", "stop"]
    assert lines[1]["client"].startswith('x"}\n{')
    assert len(lines[1]["client"]) == 128
    assert trail.path.read_bytes().isascii()


def test_a_removed_line_is_reported(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.stdio(trail) as peer:
        for _ in range(3):
            peer.call("list_entries")
    lines = trail.path.read_text(encoding="ascii").splitlines(keepends=True)
    trail.path.write_text("".join(lines[:2] + lines[3:]), encoding="ascii")

    from toolmason_runtime.audit.command import audit_command

    assert audit_command([str(trail.path)], prog="audit") == 1
    assert "1 line is missing" in capsys.readouterr().err


def test_the_log_was_rotated_during_the_incident(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    trail.path.parent.mkdir()
    filler = '{"time":"2026-01-01T00:00:00.000Z","event":"call","tool":"filler"}\n'
    trail.path.write_text(filler * (999_000 // len(filler)), encoding="ascii")
    trail.path.chmod(0o600)
    with ledger.stdio(trail) as peer:
        for _ in range(6):
            peer.call("list_entries")

    assert trail.path.with_name("audit.jsonl.1").exists()
    assert len(trail.read(capsys, "--tool", "list_entries")) == 6
    assert [line["event"] for line in trail.read(capsys, "--server", "ledger")][::7] == ["start", "stop"]


# Over HTTP: which principal, from which address?


def test_a_client_was_refused_for_a_missing_scope(http_desk: tuple[Http, Trail], capsys: Any) -> None:
    http, trail = http_desk
    status = http.call(http.issuer.token("bob"), "record_entry", text="x")

    refusal = only(trail.read(capsys, "--rule", "INSUFFICIENT_SCOPE"))
    assert status == 403
    assert shown(refusal, "principal", "oauth_client", "tool", "scopes", "address") == (
        *("bob", "bob-app", "record_entry", ["notes:write"]),
        "127.0.0.1",
    )


def test_one_principal_called_a_tool_500_times(http_desk: tuple[Http, Trail], capsys: Any) -> None:
    http, trail = http_desk
    for subject, count in (("carol", 500), ("dave", 3)):
        token = http.issuer.token(subject)
        for _ in range(count):
            assert http.call(token, "list_entries") == 200

    counted = trail.read(capsys, "--event", "call", "--tool", "list_entries", "--count", "principal")
    assert counted[:2] == [{"principal": "carol", "count": 500}, {"principal": "dave", "count": 3}]


def test_a_refused_call_over_http_has_one_line(http_desk: tuple[Http, Trail], capsys: Any) -> None:
    http, trail = http_desk
    before = len(trail.read(capsys, "--event", "refusal"))
    token = http.issuer.token("ann")
    for tool in ("nobody", "close_year"):
        http.call(token, tool)
    http.call(token, "call_read", tool_name="close_year", args={})

    refusals = trail.read(capsys, "--event", "refusal")[before:]
    assert [shown(line, "rule", "principal") for line in refusals] == [
        ("UNKNOWN_TOOL", "ann"),
        ("NOT_LISTED", "ann"),
        ("NOT_READ_ONLY", "ann"),
    ]


def test_tokens_were_forged_and_expired(http_desk: tuple[Http, Trail], capsys: Any) -> None:
    http, trail = http_desk
    issuer = http.issuer
    own = issuer.keys["first"]
    issuer.keys["first"] = ("RS256", make_key("RS256"))
    forged = issuer.token("mallory")
    issuer.keys["first"] = own
    statuses = [
        http.call(token, "list_entries")
        for token in (
            forged,
            issuer.token("mallory", exp=int(time.time()) - 60),
            issuer.token("mallory", aud="x"),
            "garbage",
            "",
        )
    ]

    rules = [line["rule"] for line in trail.read(capsys, "--event", "refusal") if line.get("status") == 401]
    assert statuses == [401] * 5
    assert rules == ["TOKEN_SIGNATURE", "TOKEN_EXPIRED", "TOKEN_AUDIENCE", "TOKEN_INVALID", "TOKEN_MISSING"]
    assert "mallory" not in trail.text()


def test_a_web_page_tried_to_reach_the_server(http_desk: tuple[Http, Trail], capsys: Any) -> None:
    http, trail = http_desk
    http.call("", "list_entries", headers={"host": "rebound.example"})
    http.call("", "list_entries", headers={"origin": "https://evil.example"})

    rules = {line["rule"]: line["status"] for line in trail.read(capsys, "--event", "refusal") if "status" in line}
    assert (rules["HOST"], rules["ORIGIN"]) == (421, 403)


def test_a_call_over_http_exceeded_the_limit_of_the_server(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.http(trail, "--call-timeout", "1", "--max-requests", "1") as http:
        token = http.issuer.token("ann")
        assert http.call(token, "wait") == 200

    assert shown(only(trail.read(capsys, "--event", "call")), "tool", "outcome", "principal") == (
        *("wait", "timeout"),
        "ann",
    )


def test_a_client_was_refused_for_too_many_requests(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.http(trail, "--max-requests", "1", "--call-timeout", "5") as http:
        token = http.issuer.token("ann")
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(http.call, token, "wait")
            statuses = []
            while 503 not in statuses and not waiting.done():
                statuses.append(http.call(token, "list_entries"))
            statuses.append(waiting.result())  # which of two concurrent requests is refused is not determined

    refusals = trail.read(capsys, "--rule", "HTTP_503")
    assert len(refusals) == statuses.count(503) > 0
    assert refusals[0]["address"] == "127.0.0.1"


def test_two_workers_write_one_log(ledger: Ledger, trail: Trail, capsys: Any) -> None:
    with ledger.http(trail, "--workers", "2") as http:
        token = http.issuer.token("ann")
        instances: set[str] = set()
        deadline = time.monotonic() + 60
        sent = 0
        while len(instances) < 2 and time.monotonic() < deadline:
            with httpx2.Client(timeout=30) as fresh:
                http.client = fresh
                for _ in range(5):
                    assert http.call(token, "list_entries") == 200
                    sent += 1
            calls = trail.read(capsys, "--event", "call")
            instances = {line["instance"] for line in calls}

    calls = trail.read(capsys, "--event", "call", "--principal", "ann")
    assert len(instances) == 2
    assert len(calls) == sent
    assert len(trail.read(capsys, "--event", "start")) == 2


def test_the_log_of_the_manifest_is_in_the_state_directory(ledger: Ledger, tmp_path: Path, capsys: Any) -> None:
    with ledger.stdio(Trail(Path()), env={"LEDGER_AUDIT": "", "HOME": str(tmp_path)}) as peer:
        peer.call("list_entries")

    trail = Trail(tmp_path / ".local" / "state" / "ledger" / "audit.jsonl")
    if sys.platform == "darwin":
        trail = Trail(tmp_path / "Library" / "Application Support" / "ledger" / "audit.jsonl")
    assert [line["event"] for line in trail.read(capsys)] == ["start", "call", "stop"]
    assert trail.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("engine", ["lean", "sdk"])
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_each_engine_and_era_write_the_same_lines(
    ledger: Ledger, trail: Trail, capsys: Any, engine: str, version: str
) -> None:
    with ledger.stdio(trail, "--engine", engine, version=version, capabilities={}) as peer:
        for tool in ("list_entries", "nobody", "push"):
            peer.response(peer.send("tools/call", name=tool, arguments={"branch": "x"} if tool == "push" else {}))

    lines = trail.read(capsys)
    assert [shown(line, "event", "tool", "rule") for line in lines] == [
        ("start", None, None),
        ("call", "list_entries", None),
        ("refusal", "nobody", "UNKNOWN_TOOL"),
        ("approval", "push", None),
        ("refusal", "push", "APPROVAL_UNAVAILABLE"),
        ("stop", None, None),
    ]
    assert shown(lines[1], "client", "client_version", "transport", "outcome") == ("editor", "0", "stdio", "ok")
    assert lines[1]["result_bytes"] == len("entries with ''")
