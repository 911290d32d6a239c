"""The command lines that the boot phase answers: each flag, and values that only the server may judge."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.server.flags import FLAGS, make_parser, prepared_flags
from toolmason_runtime.server.opening_arguments import parse_arguments, variant_of
from toolmason_runtime.server.options import OptionSpec
from toolmason_runtime.shared.opening import CATALOGUE, CLASSIC_VARIANT, DEFAULT_VARIANT, NO_COMMANDS_VARIANT, OPENING

WORKBENCH = Path(__file__).parents[3] / "generated" / "workbench_server"
CATALOGUE_OF_WORKBENCH: Any = json.loads((WORKBENCH / CATALOGUE).read_bytes())
FLAGS_OF_WORKBENCH: dict[str, Any] = json.loads((WORKBENCH / OPENING).read_bytes())["flags"]
SERVER = None
"""The whole server answers."""

DECISIONS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "--list-tools": ((), SERVER),
    "--log-level": (("error",), DEFAULT_VARIANT),
    "--log-format": (("text",), DEFAULT_VARIANT),
    "--audit": (("/var/log/calls",), SERVER),  # the log is opened before the first answer
    "--engine": (("lean",), SERVER),  # who names the engine gets its answers
    "--debuggable": ((), SERVER),
    "--discovery": (("classic",), CLASSIC_VARIANT),
    "--classic": ((), CLASSIC_VARIANT),
    "--all": ((), SERVER),
    "--no-command-prompts": ((), NO_COMMANDS_VARIANT),
    "--prefix": (("home_",), SERVER),
    "--toolsets": (("files",), SERVER),
    "--http": ((), SERVER),
    "--host": (("127.0.0.1",), SERVER),
    "--port": (("0",), SERVER),
    "--allow-host": (("a.example",), SERVER),
    "--allow-origin": (("https://a.example",), SERVER),
    "--token-file": (("token",), SERVER),
    "--workers": (("2",), SERVER),
    "--max-requests": (("2",), SERVER),
    "--max-client-requests": (("2",), SERVER),
    "--max-client-sessions": (("2",), SERVER),
    "--call-timeout": (("2",), SERVER),
    "--auth-issuer": (("https://a.example",), SERVER),
    "--auth-audience": (("a",), SERVER),
    "--auth-jwks-url": (("https://a.example",), SERVER),
    "--auth-resource": (("https://a.example",), SERVER),
    "--policy": (("policy.toml",), SERVER),
    "--headless-approve": ((), DEFAULT_VARIANT),
}
"""The values of each flag in the test, and the variant of the prepared answers."""
LINES: list[tuple[str, str | None]] = [
    ("", DEFAULT_VARIANT),
    ("serve", DEFAULT_VARIANT),
    ("serve serve", SERVER),
    ("--root /a", DEFAULT_VARIANT),
    ("--root=/a", DEFAULT_VARIANT),
    ("--root /a --root /b --review-ttl 2h --log-level debug", DEFAULT_VARIANT),
    ("serve --root /a --classic", CLASSIC_VARIANT),
    ("--root tools", DEFAULT_VARIANT),
    ("--root /a serve", SERVER),
    ("--root", SERVER),
    ("--root=", SERVER),
    ("--root --all", SERVER),
    ("--root -", SERVER),
    ("-- --root /a", SERVER),
    ("--roo /a", SERVER),
    ("-r /a", SERVER),
    ("--auto-approve", DEFAULT_VARIANT),
    ("--auto-approve *.md --auto-approve", DEFAULT_VARIANT),
    ("--auto-approve=", SERVER),
    ("--auto-approve --no-command-prompts", NO_COMMANDS_VARIANT),
    ("--log-level loud", SERVER),
    ("--log-level=info --log-level warning", DEFAULT_VARIANT),
    ("--discovery search-call", DEFAULT_VARIANT),
    ("--discovery code", SERVER),
    ("--discovery code --discovery classic", SERVER),
    ("--discovery search-call --classic", SERVER),
    ("--discovery classic --classic", CLASSIC_VARIANT),
    ("--classic --all", SERVER),
    ("--classic --no-command-prompts", SERVER),
    ("--classic=yes", SERVER),
    ("--help", SERVER),
    ("--version", SERVER),
    ("read-files bench.txt", SERVER),
    ("doctor", SERVER),
]
"""Command lines of Workbench."""
OPTIONS = (
    OptionSpec(name="database", flag="--database", env="DATABASE", required=True),
    OptionSpec(name="limit", flag="--limit", env="LIMIT", type="integer"),
    OptionSpec(name="rate", flag="--rate", type="number"),
    OptionSpec(name="strict", flag="--strict", env="STRICT", type="boolean"),
    OptionSpec(name="theme", flag="--theme", env="THEME", implicit="dark"),
    OptionSpec(name="token", flag="--token", env="TOKEN", required=True, secret=True),
)
SET = {"DATABASE": "db", "TOKEN": "t"}


def variant(line: str) -> str | None:
    """The variant for a command line of Workbench."""
    given = parse_arguments(line.split(), FLAGS_OF_WORKBENCH, {})
    return None if given is None else variant_of(given)


def test_each_flag_has_a_decision() -> None:
    assert list(DECISIONS) == [flag.name for flag in FLAGS]


@pytest.mark.parametrize("flag", DECISIONS)
def test_a_flag_keeps_the_prepared_answers_or_starts_the_whole_server(flag: str) -> None:
    values, expected = DECISIONS[flag]
    assert variant(" ".join((flag, *values))) == expected


@pytest.mark.parametrize(("line", "expected"), LINES, ids=str)
def test_a_command_line_has_a_variant_only_if_the_server_accepts_it(line: str, expected: str | None) -> None:
    assert variant(line) == expected


def test_a_server_without_tools_of_the_tier_all_answers_with_that_flag() -> None:
    tools = {name: entry for name, entry in CATALOGUE_OF_WORKBENCH["tools"].items() if entry["tier"] == "core"}
    without: Any = prepared_flags(CATALOGUE_OF_WORKBENCH | {"tools": tools}, ())

    assert "--all" not in prepared_flags(CATALOGUE_OF_WORKBENCH, ())
    assert without["--all"] == {"switch": True}


@pytest.mark.parametrize(
    ("line", "variables", "is_answered"),
    [
        ("", SET, True),
        ("", {"TOKEN": "t"}, False),
        ("", {"DATABASE": "db"}, False),
        ("", {"TOKEN": "t", "DATABASE": os.pathsep}, False),
        ("--database db", {"TOKEN": "t"}, True),
        ("--token t", SET, False),
        ("", {**SET, "LIMIT": "3", "STRICT": "no"}, True),
        ("", {**SET, "LIMIT": "3.5"}, False),
        ("--limit 3", {**SET, "LIMIT": "3.5"}, True),
        ("--limit 3.5", SET, False),
        ("--limit -3", SET, False),  # `argparse` decides
        ("--limit=-3 --rate 1e3", SET, True),
        ("--rate inf", SET, False),
        ("--strict --no-strict", {**SET, "STRICT": ""}, True),
        ("--strict yes", SET, False),
        ("--strict=yes", SET, False),
        ("", {**SET, "STRICT": "perhaps"}, False),
        ("--theme --limit 3", SET, True),
        ("--theme=", SET, False),
    ],
    ids=str,
)
def test_options_of_a_server_are_checked(line: str, variables: dict[str, str], is_answered: bool) -> None:
    flags = prepared_flags(CATALOGUE_OF_WORKBENCH, OPTIONS)
    assert (parse_arguments(line.split(), flags, variables) is not None) == is_answered


def test_a_prepared_flag_has_only_the_members_that_the_boot_phase_needs() -> None:
    own, flags = (prepared_flags(CATALOGUE_OF_WORKBENCH, options) for options in ((), OPTIONS))
    assert list(own.items()) == list(FLAGS_OF_WORKBENCH.items())[: len(own)]
    assert {name: flag for name, flag in flags.items() if name not in own} == {
        "--database": {"env": "DATABASE", "required": True},
        "--limit": {"type": "integer", "env": "LIMIT"},
        "--rate": {"type": "number"},
        "--no-strict": {"switch": True},
        "--strict": {"type": "boolean", "env": "STRICT", "switch": True},
        "--theme": {"implicit": True},
        "--token": {"env": "TOKEN", "required": True, "secret": True},
    }


SPECS = (
    OptionSpec(name="root", flag="--root", many=True),
    OptionSpec(name="auto_approve", flag="--auto-approve", many=True, implicit="**"),
    OptionSpec(name="review_ttl", flag="--review-ttl"),
)
WORDS = (
    *("serve", "tools", "", "-", "--", "-1", "/a", "a b", "classic", "search-call", "error", "--root=/a", "--root="),
    *("--log-level=loud", "--classic=1", "--help=1", *FLAGS_OF_WORKBENCH, "--all", "--no-root", "--log"),
)


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_each_answered_command_line_means_the_same_to_the_server(words: list[str]) -> None:
    given_flags = parse_arguments(words, FLAGS_OF_WORKBENCH, {})
    if given_flags is None:
        return
    args = make_parser(CATALOGUE_OF_WORKBENCH, SPECS, (), "workbench", "1").parse_args(words)

    assert args.command == "serve"
    assert args.log_level == given_flags.get("--log-level", "warning")
    assert args.log_format == given_flags.get("--log-format")
    assert args.discovery == given_flags.get("--discovery")
    assert (args.classic, args.no_command_prompts) == (
        CLASSIC_VARIANT in given_flags,
        NO_COMMANDS_VARIANT in given_flags,
    )
    assert args.option_review_ttl == given_flags.get("--review-ttl")
    assert (args.option_root or [None])[-1] == given_flags.get("--root")
    assert (args.option_auto_approve or [None])[-1] == (
        (given_flags["--auto-approve"] or "**") if "--auto-approve" in given_flags else None
    )
