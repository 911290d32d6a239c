"""The facts about a client are found by the name that it sends."""

from __future__ import annotations

import pytest
from toolmason_runtime.shared.client_profiles import UNKNOWN_ANSWER_SIZE, client_profile, makes_names_different


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("claude-code", "claude-code"),
        ("Claude-Code", "claude-code"),
        ("Visual Studio Code - Insiders", "vscode"),
        ("claude-ai (via mcp-remote 0.1.29)", "claude-desktop"),
        ("cursor-vscode (via mcp-remote 0.1.29)", "cursor"),
        ("codex-mcp-client", "codex"),
        ("github-copilot-developer", "copilot-cli"),
        ("Cline", "cline"),
        ("@cline/core", "cline-cli"),
        ("continue-cli-client", "continue"),
        ("qwen-code-mcp-client", "qwen-code"),
        ("claude-code-router", ""),
        ("Visual", ""),
        ("mcp", ""),
        ("", ""),
        (" ", ""),
    ],
)
def test_a_client_is_known_by_its_name_in_any_case_and_with_words_after_it(name: str, key: str) -> None:
    assert client_profile(name).key == key


def test_an_unknown_client_gets_the_defaults() -> None:
    profile = client_profile("someone")

    assert profile.answer_size == UNKNOWN_ANSWER_SIZE
    assert not profile.prefixes
    assert profile.elicitation is None
    assert profile.tool_timeout_s is None


def test_a_long_name_of_many_words_is_looked_up_at_once() -> None:
    assert client_profile("a " * 1_000_000).key == ""


def test_a_known_client_has_its_facts() -> None:
    profile = client_profile("github-copilot-developer")

    assert profile.prefixes
    assert profile.answer_size == 20_000
    assert profile.elicitation == ("form", "url")
    assert profile.prompts is False
    assert client_profile("qwen-code-mcp-client").always_load == "alwaysLoadTools"
    assert client_profile("codex-mcp-client").tool_timeout_s == 300


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("codex", True),
        ("cline", True),
        ("cline-cli", True),
        ("copilot-cli", True),
        ("continue", False),
        ("junie", False),
    ],
)
def test_a_client_is_known_by_its_key(key: str, expected: bool) -> None:
    assert makes_names_different(key) is expected
