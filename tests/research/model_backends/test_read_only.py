"""What holds the Gemini CLI to reading, what it is given of the environment, and when it is not asked at all."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError

from workbench_research.gemini_files import users_home
from workbench_research.model_backends import read_only
from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.environment import child_environment, project_variables
from workbench_research.model_backends.read_only import TOOLS, read_only_enforced, restrict

NEW = Program(path="/bin/gemini", name="gemini", version="0.61.0", features=frozenset({"admin-policy"}))
OLD = Program(path="/bin/gemini", name="gemini", version="0.9.0", features=frozenset({"admin-policy"}))
NO_SEARCH = tuple(each for each in TOOLS if each != "grep_search")
"""What is left where no ripgrep is found, as on a PATH that is empty."""
OLDEST = Program(path="/bin/gemini", name="gemini", version="0.9.0")


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Give the `.gemini` of a user's home."""
    directory = tmp_path / "user" / ".gemini"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def environ(user: Path) -> dict[str, str]:
    return {"HOME": str(user.parent), "USERPROFILE": str(user.parent)}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of an administrator's settings and policies, which is empty."""
    directory = tmp_path / "system"
    monkeypatch.setattr(read_only, "SYSTEM_DIRECTORY", directory)
    monkeypatch.setattr(read_only, "_RIPGREP", "")
    return directory


def ruled(system: Path) -> None:
    (system / "policies").mkdir(parents=True)
    (system / "policies" / "rules.toml").write_text("", encoding="utf-8")


def settings(home: Path | None) -> dict[str, Any]:
    assert home is not None
    said: dict[str, Any] = json.loads((home / ".gemini" / "settings.json").read_text(encoding="utf-8"))
    return said


def test_policy_denies_all_but_the_tools_that_read(environ: dict[str, str], directory: Path) -> None:
    policy = restrict(NEW, environ, directory).policy

    assert policy is not None
    deny, allow, *arguments = tomllib.loads(policy.read_text(encoding="utf-8"))["rule"]
    assert (deny["toolName"], deny["decision"]) == ("*", "deny")
    assert (tuple(allow["toolName"]), allow["decision"]) == (NO_SEARCH, "allow")
    assert deny["priority"] < allow["priority"] < min(each["priority"] for each in arguments)
    assert {each["decision"] for each in arguments} == {"deny"}


def test_home_takes_over_how_the_user_signs_in_and_nothing_that_runs(
    user: Path, environ: dict[str, str], directory: Path
) -> None:
    (user / "settings.json").write_text(
        """{
            // how to sign in, see https://example.org/*
            "security": {"auth": {"selectedType": "vertex-ai"}, "folderTrust": {"enabled": false}},
            "context": {"fileFiltering": {"respectGitIgnore": false}, "includeDirectories": ["/etc"]},
            "model": {"name": "mine"}, /* and what runs */
            "hooks": {"SessionStart": []}, "mcpServers": {"evil": {"command": "evil"}},
            "tools": {"core": ["run_shell_command"], "discoveryCommand": "evil", "sandbox": "docker"}
        }""",
        encoding="utf-8",
    )

    said = settings(restrict(NEW, environ, directory).home)

    assert said["security"] == {"auth": {"selectedType": "vertex-ai"}, "folderTrust": {"enabled": False}}
    assert said["context"] == {"fileFiltering": {"respectGitIgnore": False}, "memoryBoundaryMarkers": []}
    assert said["model"] == {"name": "mine"}
    assert said["tools"] == {"core": list(NO_SEARCH), "sandbox": False}
    assert not {"hooks", "mcpServers"} & said.keys()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"security": 1}', "\x00"])
def test_settings_that_cannot_be_read_are_none(user: Path, environ: dict[str, str], directory: Path, text: str) -> None:
    (user / "settings.json").write_text(text, encoding="utf-8")

    said = settings(restrict(NEW, environ, directory).home)

    assert said["hooksConfig"] == {"enabled": False}
    assert said["security"] == {"folderTrust": {"enabled": False}}


def test_renewed_token_reaches_the_users_own_file(user: Path, environ: dict[str, str], directory: Path) -> None:
    (user / "oauth_creds.json").write_text("old", encoding="utf-8")
    (user / "trustedFolders.json").write_text("{}", encoding="utf-8")

    home = restrict(NEW, environ, directory).home

    assert home is not None
    (home / ".gemini" / "oauth_creds.json").write_text("new", encoding="utf-8")
    assert (user / "oauth_creds.json").read_text(encoding="utf-8") == "new"
    assert sorted(each.name for each in (home / ".gemini").iterdir()) == ["oauth_creds.json", "settings.json"]


def test_home_that_the_user_has_moved_is_found(user: Path, environ: dict[str, str]) -> None:
    assert users_home(environ) == user.parent
    assert users_home({**environ, "GEMINI_CLI_HOME": "/elsewhere"}) == Path("/elsewhere")


def test_both_means_hold_where_nothing_stands_against_them(environ: dict[str, str]) -> None:
    assert read_only_enforced(NEW, environ) == (True, ())


def test_administrators_policies_leave_only_the_home(environ: dict[str, str], directory: Path, system: Path) -> None:
    ruled(system)

    holds, reasons = read_only_enforced(NEW, environ)
    restriction = restrict(NEW, environ, directory)

    assert holds
    assert len(reasons) == 1
    assert str(system / "policies" / "rules.toml") in reasons[0]
    assert restriction.policy is None
    assert settings(restriction.home)["tools"]["core"] == ["read_file", "list_directory"]


def test_version_without_a_home_is_left_only_the_policy(environ: dict[str, str], directory: Path) -> None:
    holds, reasons = read_only_enforced(OLD, environ)
    restriction = restrict(OLD, environ, directory)

    assert holds
    assert len(reasons) == 1
    assert "GEMINI_CLI_HOME" in reasons[0]
    assert restriction.home is None
    assert restriction.policy is not None


@pytest.mark.parametrize("program", [OLD, OLDEST], ids=["ruled", "knows neither"])
def test_program_that_nothing_holds_is_not_asked(
    program: Program, environ: dict[str, str], directory: Path, system: Path
) -> None:
    ruled(system)

    holds, reasons = read_only_enforced(program, environ)
    with pytest.raises(ToolError, match="it could not be prevented from writing") as raised:
        restrict(program, environ, directory)

    assert not holds
    assert len(reasons) == 2
    assert raised.value.code == "GEMINI_CLI_ERROR"
    assert raised.value.details == {"reasons": list(reasons)}
    assert list(directory.iterdir()) == []


def test_the_program_gets_its_credentials_and_no_other_secret() -> None:
    needed = {
        "GEMINI_API_KEY": "key",
        "GOOGLE_APPLICATION_CREDENTIALS": "/key.json",
        "CLOUDSDK_CONFIG": "/gcloud",
        "https_proxy": "http://proxy",
        "NODE_EXTRA_CA_CERTS": "/ca.pem",
    }
    secret = {
        "OPENAI_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "NODE_OPTIONS": "--require /evil.js",
        "NODE_TLS_REJECT_UNAUTHORIZED": "0",
        "GEMINI_SANDBOX": "docker",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_OUTFILE": "/somewhere",
        "GEMINI_WRITE_SYSTEM_MD": "true",
        "GEMINI_CLI_HOME": "/home/user",
        "LD_PRELOAD": "/evil.so",
    }

    given = child_environment({"PATH": "/bin", "TMPDIR": "/private", **needed, **secret}, "/opt/node/bin/gemini")

    assert needed.items() <= given.items()
    assert not given.keys() & secret.keys()
    assert given["NO_COLOR"] == "1"
    assert (given["TMPDIR"], given["TEMP"], given["TMP"]) == ("/private",) * 3


def test_interpreter_beside_the_program_is_found_last() -> None:
    given = child_environment({"PATH": "/bin", "SYSTEMROOT": "C:\\"}, "/opt/node/bin/gemini")

    assert [Path(each) for each in given["PATH"].split(";" if sys.platform == "win32" else ":")] == [
        Path("/bin"),
        Path("/opt/node/bin"),
    ]


def test_variables_that_a_project_or_a_folder_above_would_set_are_known(tmp_path: Path, user: Path) -> None:
    inner = user.parent / "code" / "project"
    (inner / ".gemini").mkdir(parents=True)
    (inner / ".gemini" / ".env").write_text(
        "export A=1\n  B = 2\r\nC: 3\n# D=4\n\ufeffE=5\nF.G-H='a\nI=6'\n", encoding="utf-8"
    )
    (inner.parent / ".env").write_text("ABOVE=1\n", encoding="utf-8")
    (user / ".env").write_text("MINE=1\n", encoding="utf-8")
    (user.parent / ".env").write_text("MINE_TOO=1\n", encoding="utf-8")

    names = project_variables(inner, user.parent)

    assert {"A", "B", "C", "E", "F.G-H", "I", "ABOVE"} <= names
    assert not {"MINE", "MINE_TOO"} & names
    assert tmp_path in inner.parents


def test_file_of_variables_too_long_to_look_through_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n" * 100_000, encoding="utf-8")

    with pytest.raises(ToolError, match="move it away"):
        project_variables(tmp_path, tmp_path / "home")
