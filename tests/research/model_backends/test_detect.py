from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_cli import GEMINI_HELP, Fake, pause
from toolmason_runtime import ToolError

from workbench_research.model_backends import detect, stored_programs
from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.detect import (
    clear_cache,
    find_program,
    parse_features,
    parse_version,
)
from workbench_research.model_backends.selection import without_project_paths
from workbench_research.model_backends.stored_programs import store_program

MakeFake = Callable[..., Fake]


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    clear_cache()
    yield
    clear_cache()


def around(*fakes: Fake, **more: str) -> dict[str, str]:
    """Give an environment with these on PATH, in this order."""
    return {"PATH": os.pathsep.join([*(str(fake.directory) for fake in fakes), "/usr/bin", "/bin"]), **more}


def found(environ: dict[str, str]) -> Program:
    return asyncio.run(find_program(environ))


def refused(environ: dict[str, str], reason: str = "") -> ToolError:
    """Give the refusal of a program that exists, for a reason, or of one that does not exist."""
    with pytest.raises(ToolError) as raised:
        asyncio.run(find_program(environ))
    assert raised.value.code == ("GEMINI_CLI_ERROR" if reason else "GEMINI_CLI_NOT_FOUND")
    assert raised.value.details.get("reason", "") == reason
    return raised.value


def test_the_real_program_is_found_and_leaves_nothing_in_the_home(gemini: str, gemini_home: Any) -> None:
    before = sorted(gemini_home.path.rglob("*"))
    program = found(gemini_home.without(WORKBENCH_GEMINI_COMMAND=gemini))

    assert program.name == "gemini"
    assert program.version[0].isdigit()
    assert {"stream-json", "json", "admin-policy", "allowed-mcp-server-names", "skip-trust"} <= program.features
    after = sorted(path for path in gemini_home.path.rglob("*") if ".cache" not in path.parts)
    assert after == before, "only our own record of it is new"


def test_a_program_on_path_is_found(fake: MakeFake) -> None:
    cli = fake("gemini")
    program = found(around(cli))

    assert (program.path, program.name, program.version) == (str(cli.path), "gemini", "0.61.0")
    assert cli.runs == []


def test_features_are_the_long_flags_with_their_choices() -> None:
    features = parse_features(GEMINI_HELP)

    assert {"model", "skip-trust", "admin-policy", "json", "stream-json"} <= features
    assert "text" not in features
    assert "stream-json" not in parse_features(GEMINI_HELP.replace(', "stream-json"', ""))


def test_choices_on_the_next_line_are_read() -> None:
    wrapped = (
        "  -o, --output-format   The format of the output.\n                        [choices: json, stream-json]\n"
    )

    assert {"json", "stream-json"} <= parse_features(wrapped)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.61.0\n", "0.61.0"),
        ("gemini version v1.1.13 (abc)", "1.1.13"),
        ("1.2.0-preview.3", "1.2.0-preview.3"),
        ("", ""),
    ],
)
def test_versions_are_read(text: str, version: str) -> None:
    assert parse_version(text) == version


def test_it_is_asked_once_until_it_changes(fake: MakeFake) -> None:
    cli = fake("gemini")
    environ = around(cli)

    async def many() -> list[Program]:
        return list(await asyncio.gather(*(find_program(environ) for _ in range(20))))

    assert len(set(asyncio.run(many()))) == 1
    assert cli.probes == 2

    cli.path.write_text(cli.path.read_text(encoding="utf-8") + "# an update\n", encoding="utf-8")
    found(environ)
    assert cli.probes == 4


def test_the_next_server_uses_the_stored_detection_until_the_program_changes(fake: MakeFake, tmp_path: Path) -> None:
    cli = fake("gemini")
    environ = around(cli, HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path))
    first = found(environ)
    clear_cache()
    assert found(environ) == first
    assert cli.probes == 2

    clear_cache()
    cli.path.write_text(cli.path.read_text(encoding="utf-8") + "# an update\n", encoding="utf-8")
    found(environ)
    assert cli.probes == 4


def test_a_search_for_faults_asks_the_program_itself(fake: MakeFake, tmp_path: Path) -> None:
    cli = fake("gemini")
    environ = around(cli, HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path))
    found(environ)
    clear_cache()
    asyncio.run(find_program(environ, use_stored=False))
    assert cli.probes == 4


@pytest.mark.parametrize(
    "damage", ["text", "old", "future", "types", "endless", "too few features", "link", "readable by others"]
)
def test_a_stored_result_that_cannot_be_trusted_is_not_used(fake: MakeFake, tmp_path: Path, damage: str) -> None:
    cli = fake("gemini")
    environ = around(cli, HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path))
    found(environ)
    [stored] = tmp_path.rglob("gemini.json")
    entry = json.loads(stored.read_text(encoding="utf-8"))
    if damage == "text":
        stored.write_text("{", encoding="utf-8")
    elif damage == "link":
        stored.symlink_to(stored.rename(tmp_path / "elsewhere"))
    elif damage == "readable by others":
        stored.chmod(0o644)
    else:
        change = {
            "old": {"time": 0.0},
            "future": {"time": entry["time"] + 9_999},
            "types": {"features": [1]},
            "endless": {"time": 10**400},
            "too few features": {"features": ["model"]},
        }[damage]
        stored.write_text(json.dumps(entry | change), encoding="utf-8")
    clear_cache()
    found(environ)
    assert cli.probes == 4


def test_a_home_that_cannot_be_written_only_costs_another_probe(fake: MakeFake, tmp_path: Path) -> None:
    cli = fake("gemini")
    home = tmp_path / "home"
    home.write_text("a file", encoding="utf-8")
    assert found(around(cli, HOME=str(home), LOCALAPPDATA=str(home))).name == "gemini"


def test_without_a_program_the_error_names_the_package_to_install(tmp_path: Path) -> None:
    error = refused({"PATH": str(tmp_path)})

    assert "npm install -g @google/gemini-cli" in error.message
    assert "since 2026-06-18 Gemini CLI serves only paid API keys and enterprise accounts" in error.message
    assert "https://github.com/google-gemini/gemini-cli" in error.details["troubleshooting"]
    assert [each["command"] for each in error.details["looked_at"]] == ["gemini"]


def test_a_program_that_only_has_the_name_is_refused(fake: MakeFake) -> None:
    other = fake("gemini", help="Usage: gemini [stars]\n\nShows the constellation. --model --output-format stream-json")
    namesake = fake("gemini", help="Find twins.")

    assert "lacks" in refused(around(other), "UNUSABLE").message
    error = refused(around(namesake), "UNUSABLE")
    assert "it is not the Gemini CLI" in error.message
    assert str(namesake.path) in error.message


def test_an_old_gemini_that_cannot_be_held_to_reading_is_refused(fake: MakeFake) -> None:
    help_text = "\n".join(line for line in GEMINI_HELP.splitlines() if "--admin-policy" not in line)

    message = refused(around(fake("gemini", version="0.20.0", help=help_text)), "UNUSABLE").message
    assert "version 0.20.0 lacks admin-policy" in message
    assert "npm install -g @google/gemini-cli" in message


def test_a_variable_names_another_executable(fake: MakeFake, tmp_path: Path) -> None:
    cli = fake("gemini")
    elsewhere = tmp_path / "my-gemini"
    elsewhere.symlink_to(cli.path)

    assert found({"PATH": "/usr/bin", "WORKBENCH_GEMINI_COMMAND": str(elsewhere)}).path == str(elsewhere)
    assert found(around(cli, WORKBENCH_GEMINI_COMMAND="gemini")).path == str(cli.path)
    assert "my-nothing is not on PATH" in str(
        refused(around(cli, WORKBENCH_GEMINI_COMMAND="my-nothing")).details["looked_at"]
    )


@pytest.mark.parametrize("name", ["agy", "Claude"])
def test_an_unknown_backend_is_refused_with_the_valid_ones(fake: MakeFake, name: str) -> None:
    message = refused(around(fake("gemini"), WORKBENCH_BACKEND=name), "SETTING").message

    assert f"WORKBENCH_BACKEND is '{name}': set it to gemini or auto" in message


def test_relative_folders_of_path_are_not_looked_into(
    fake: MakeFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini")
    monkeypatch.chdir(cli.directory)

    refused({"PATH": f".{os.pathsep}{tmp_path}"})
    assert cli.probes == 0


def test_folders_of_path_within_a_project_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    project, home = tmp_path / "home" / "project", tmp_path / "home"
    (project / "bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "bin")
    (project / "link").symlink_to("/usr/bin")
    within = (project / "bin", tmp_path / "link", project / "link", project, project / "x" / ".." / "bin")
    environ = {"PATH": os.pathsep.join(map(str, (*within, "bin", "", home / "bin", "/usr/bin"))), "A": "1"}
    usual = f"{home / 'bin'}{os.pathsep}/usr/bin"

    assert without_project_paths(environ, (home / "other", project)) == {"PATH": usual, "A": "1"}
    everything = without_project_paths(environ, (home,))["PATH"].split(os.pathsep)
    assert str(home / "bin") in everything, "a whole home is nobody's project"
    assert "bin" not in everything


def test_a_program_that_does_not_answer_is_given_up_and_asked_again_later(
    fake: MakeFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", probe=[pause(60)])
    monkeypatch.setattr(detect, "PROBE_TIMEOUTS_S", (0.2, 0.3))

    error = refused(around(cli), "TIMEOUT")
    assert "installed but slow to start" in error.message
    assert "did not finish within" in error.message
    assert "npm install" not in error.message + str(error.details)
    assert "in 2 attempts" in error.message
    refused(around(cli), "TIMEOUT")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script counts its runs")
def test_a_program_that_is_slow_once_is_found_by_the_second_attempt(
    fake: MakeFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini")
    started = tmp_path / "started"
    script = cli.path.read_text(encoding="utf-8")
    slow = f'case "$1" in --version) mkdir "{started}" 2>/dev/null && sleep 60;; esac; exec '
    cli.path.write_text(script.replace("exec ", slow, 1), encoding="utf-8")
    monkeypatch.setattr(detect, "PROBE_TIMEOUTS_S", (0.5, 20.0))

    assert found(around(cli)).path == str(cli.path)


def test_a_slow_program_is_used_with_its_last_success_unless_it_changed(
    fake: MakeFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", probe=[pause(60)])
    environ = around(cli, HOME=str(tmp_path / "home"), LOCALAPPDATA=str(tmp_path / "home"))
    key = detect._key(str(cli.path))
    assert key is not None
    stored = Program(path=str(cli.path), name="gemini", version="0.61.0", features=parse_features(GEMINI_HELP))
    store_program(stored, key, environ)
    monkeypatch.setattr(detect, "PROBE_TIMEOUTS_S", (0.2, 0.3))
    monkeypatch.setattr(stored_programs, "TTL_S", 0.0)

    assert found(environ).version == "0.61.0"
    with pytest.raises(ToolError, match="slow to start"):
        asyncio.run(find_program(environ, use_stored=False))
    cli.path.write_text(cli.path.read_text(encoding="utf-8") + "\n# another version\n", encoding="utf-8")
    refused(environ, "TIMEOUT")


def test_a_program_that_cannot_run_is_reported_with_its_output(fake: MakeFake, tmp_path: Path) -> None:
    cli = fake("gemini")
    cli.path.write_text(
        "#!/bin/sh\necho 'node: AIzaSyD-0123456789abcdefghijklmnopqrstu' >&2\nexit 3\n", encoding="utf-8"
    )
    message = refused(around(cli), "UNUSABLE").message

    assert "failed with exit code 3: node: [redacted]" in message
    if sys.platform != "win32":
        cli.path.write_text(f"#!{tmp_path}/nonesuch\n", encoding="utf-8")
        assert "interpreter" in refused(around(cli), "UNUSABLE").message


def test_it_is_asked_outside_of_the_project_and_with_little_environment(
    fake: MakeFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini")
    seen = tmp_path / "seen"
    script = cli.path.read_text(encoding="utf-8")
    cli.path.write_text(script.replace("exec ", f'{{ pwd; env; }} > "{seen}"; exec ', 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found(around(cli, GEMINI_API_KEY="secret-secret", NODE_OPTIONS="--require evil"))

    text = seen.read_text(encoding="utf-8")
    assert text.splitlines()[0] == "/"
    assert "secret-secret" not in text
    assert "NODE_OPTIONS" not in text


def test_cancelling_ends_the_probe(fake: MakeFake) -> None:
    cli = fake("gemini", probe=[pause(60)])

    async def test() -> None:
        task = asyncio.create_task(find_program(around(cli)))
        async with asyncio.timeout(20):
            while not cli.probes:  # noqa: ASYNC110  nobody tells of a new file
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())
