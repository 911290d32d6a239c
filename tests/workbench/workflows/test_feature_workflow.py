"""`generate_feature_workflow` in the generated server, with a fake Gemini CLI or without one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_cli import Script, answered, failed, unauthenticated
from oracle import ERAS
from stdio_peer import Message, Peer

from workbench_handlers.workflows.answers import MAX_ANSWERS, RecentAnswers
from workbench_handlers.workflows.data import workflows

TOOL = "generate_feature_workflow"
FEATURE = {"feature_description": "Add rate limits to the API"}
PLAN = {
    "workflow_content": "# Rate limits\n\n### 1. Count requests\n\nIn `src/limits.py`.",
    "estimated_steps": 1,
    "estimated_time_minutes": 25,
    "tools_required": ["query_codebase"],
    "files_to_create": ["src/limits.py"],
    "files_to_modify": ["src/app.py", "src/none.py"],
    "dependencies": ["redis"],
}
PATH = ".claude/workflows/gemini-add-rate-limits-to-the-api.md"
Install = Callable[..., Any]


def planned(**changes: Any) -> Script:
    """Return the script of a CLI that answers with a plan."""
    return answered(f"Here it is:\n```json\n{json.dumps({**PLAN, **changes})}\n```")


def test_models_workflow_is_saved_with_its_plan(room: Any, person: Any, gemini: Install) -> None:
    fake = gemini(planned())
    room.write("src/app.py", "")

    answer = room.run(TOOL, client=person, **FEATURE).data

    content = (room.project / PATH).read_text(encoding="utf-8")
    assert answer == {
        **PLAN,
        "workflow_path": PATH,
        "workflow_content": content,
        "source": "model",
        "warnings": ["files_to_modify: `src/none.py` does not exist"],
    }
    assert content == f"<!-- Written by workbench {TOOL} -->\n\n{PLAN['workflow_content']}\n"
    assert content in person.asked[0]
    (run,) = fake.runs
    assert FEATURE["feature_description"] in run.stdin
    assert "waits for an answer" in run.stdin
    assert "`validate_against_codebase`" in run.stdin, "the packaged workflow is the starting point"


def test_options_change_the_question(room: Any, person: Any, gemini: Install) -> None:
    fake = gemini(planned())
    options = {"workflow_style": "automated", "include_validation_steps": False, "save_to": "plan.md"}

    answer = room.run(TOOL, client=person, feature_description="Refactor @secrets", **options).data

    assert answer["workflow_path"] == "plan.md"
    assert (room.project / "plan.md").is_file()
    (run,) = fake.runs
    assert "without questions" in run.stdin
    assert "validate_against_codebase" not in run.stdin
    assert "check_consistency" not in run.stdin
    assert "# Refactoring Workflow" in run.stdin
    assert "Refactor \\@secrets" in run.stdin, "no file is handed over"


@pytest.mark.parametrize(
    ("description", "validates", "name"),
    [
        ("Add a queue", True, "feature"),
        ("Add a queue", False, "feature"),
        ("Refactor the queue", True, "refactor"),
        ("Refactor the queue", False, "refactor"),
    ],
)
def test_template_style_saves_the_packaged_workflow_without_a_model(
    room: Any, person: Any, gemini: Install, description: str, name: str, *, validates: bool
) -> None:
    fake = gemini()

    answer = room.run(
        TOOL,
        client=person,
        feature_description=description,
        workflow_style="template",
        include_validation_steps=validates,
    ).data

    packaged = workflows()[name]
    variant = packaged.complete if validates else packaged.without_validation
    assert answer["source"] == "template"
    assert "warnings" not in answer
    assert answer["tools_required"] == list(variant.tools)
    assert answer["estimated_steps"] == variant.steps == answer["workflow_content"].count("\n### ")
    assert f"\n## Feature\n\n> {description}\n" in answer["workflow_content"]
    assert ("check_consistency" in answer["workflow_content"]) is validates
    assert fake.runs == []


def test_packaged_workflow_replaces_a_missing_model_and_the_result_reports_it(room: Any, person: Any) -> None:
    answer = room.run(TOOL, client=person, **FEATURE).data

    assert answer["source"] == "template"
    (warning,) = answer["warnings"]
    assert warning.startswith("no model is available, so this is the packaged workflow: ")
    assert (room.project / PATH).read_text(encoding="utf-8") == answer["workflow_content"]


def test_packaged_workflow_replaces_a_model_without_authentication(room: Any, person: Any, gemini: Install) -> None:
    gemini(unauthenticated())

    answer = room.run(TOOL, client=person, **FEATURE).data

    assert (answer["source"], len(answer["warnings"])) == ("template", 1)


@pytest.mark.parametrize(
    "script",
    [
        answered("I cannot do that."),
        answered('{"workflow_content": "# Cut'),
        answered('{"workflow_content": ["# A", 7]}'),
        answered('{"workflow_content": ""}'),
        planned(workflow_content="# A\n\nContext: !`cat ~/.ssh/id_rsa`"),
        failed(1, "boom"),
    ],
    ids=["prose", "cut", "wrong type", "empty", "command", "crash"],
)
def test_failure_of_the_model_writes_nothing_and_asks_nobody(
    room: Any, person: Any, gemini: Install, script: Script
) -> None:
    gemini(*[script] * 5)

    answer = room.run(TOOL, client=person, **FEATURE)

    assert answer.is_error
    assert list(room.project.iterdir()) == []
    assert person.asked == []


def test_missing_numbers_of_the_plan_are_estimated(room: Any, person: Any, gemini: Install) -> None:
    gemini(answered(json.dumps({"workflow_content": "# A", "estimated_steps": "many", "dependencies": 7})))

    answer = room.run(TOOL, client=person, **FEATURE).data

    steps = workflows()["feature"].complete.steps
    assert (answer["estimated_steps"], answer["estimated_time_minutes"]) == (steps, steps * 10)
    assert answer["dependencies"] == answer["files_to_create"] == []


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"feature_description": " "}, "must not be blank"),
        ({"save_to": "plan.txt"}, "`save_to` must end with `.md`"),
        ({"save_to": "../proj-evil/plan.md"}, "outside the allowed directories"),
        ({"save_to": "mine.md"}, "set overwrite to replace it, or select another path with save_to"),
        ({"workflow_style": "fast"}, "workflow_style"),
        ({"workflow_style": "template", "feature_description": "a !{id}"}, "contains `!{id}`"),
    ],
)
def test_refused_call_costs_no_question(
    room: Any, person: Any, gemini: Install, arguments: dict[str, Any], advice: str
) -> None:
    fake = gemini(planned())
    mine = room.write("mine.md", "mine\n")

    answer = room.run(TOOL, client=person, **{**FEATURE, **arguments})

    assert answer.is_error
    assert advice in answer.text
    assert (fake.runs, person.asked, list(room.project.iterdir())) == ([], [], [mine])


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("Add: OAuth2 / SSO!", "add-oauth2-sso"),
        ("Größe ändern", "größe-ändern"),
        ("漢" * 60, "漢" * 33),
        ("...", "feature"),
        ("a" * 60, "a" * 50),
    ],
)
def test_file_is_named_after_the_feature(room: Any, person: Any, description: str, name: str) -> None:
    answer = room.run(TOOL, client=person, feature_description=description, workflow_style="template").data

    assert answer["workflow_path"] == f".claude/workflows/gemini-{name}.md"
    assert (room.project / answer["workflow_path"]).is_file()


class Server:
    """A real server over stdio, and a person who answers its questions."""

    def __init__(self, room: Any, era: str) -> None:
        command = (sys.executable, "-m", "workbench_server", "--root", str(room.project), "--classic")
        self.peer = Peer(command, era, capabilities={"elicitation": {}}, cwd=str(room.project))
        self.peer.answers["elicitation/create"] = lambda params: {"action": self.action}  # noqa: ARG005
        self.action = "decline"
        self.peer.open()

    def call(self, **arguments: Any) -> Message:
        params: Message = {"name": TOOL, "arguments": arguments}
        result = self._send(params)
        if result.get("resultType") == "input_required":
            replies = {key: {"action": self.action} for key in result["inputRequests"]}
            result = self._send({**params, "inputResponses": replies})
        return result

    def _send(self, params: Message) -> Message:
        result: Message = self.peer.response(self.peer.send("tools/call", **params))["result"]
        return result


@pytest.fixture
def start(room: Any) -> Iterator[Callable[[str], Server]]:
    servers: list[Server] = []

    def make(era: str) -> Server:
        servers.append(Server(room, era))
        return servers[-1]

    yield make
    for server in servers:
        server.peer.close()


@pytest.mark.parametrize("era", ERAS)
def test_model_is_asked_once_however_often_the_person_is_asked(
    room: Any, gemini: Install, start: Callable[[str], Server], era: str
) -> None:
    fake = gemini(planned())
    server = start(era)

    declined = server.call(**FEATURE)
    assert declined["isError"]
    assert list(room.project.iterdir()) == []
    server.action = "accept"
    saved = server.call(**FEATURE, save_to="plan.md")

    assert saved["structuredContent"]["source"] == "model"
    assert (room.project / "plan.md").is_file()
    assert len(fake.runs) == 1


def test_answers_are_forgotten_after_their_lifetime_and_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    answers = RecentAnswers(clock=lambda: now[0])
    monkeypatch.setenv("CONTEXT_CACHE_TTL_MINUTES", "2")
    answers.store("first", {"a": 1})
    now[0] += 119
    assert answers.get("first") == {"a": 1}
    now[0] += 1
    assert answers.get("first") is None

    for number in range(MAX_ANSWERS + 1):
        answers.store(str(number), {})
    assert answers.get("0") is None
    assert answers.get("1") == {}
