"""What a policy file allows, its errors, and the calls that it refuses: FR-015."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.programs.argv import build_invocation
from toolmason_runtime.programs.linear_regex import Pattern
from toolmason_runtime.programs.policy import (
    Approval,
    ArgumentRule,
    DefaultAccess,
    Docker,
    ExecutorName,
    HeadlessMode,
    Policy,
    ToolRule,
)
from toolmason_runtime.programs.policy_file import PolicyError, load_policy
from toolmason_runtime.programs.spec import ArgumentPlacement, CommandTool, PlacementKind, Program, Risk
from toolmason_runtime.protocol.errors import ToolError

POLICIES = Path(__file__).parent / "policies"

Load = Callable[[str], Policy]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Read a policy of that text."""

    def read(text: str) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return load_policy(path)

    return read


def log(
    *placements: ArgumentPlacement, shared: tuple[ArgumentPlacement, ...] = (), name: str = "git_log"
) -> CommandTool:
    of = Program(name="git", command=("git",), ends_options=True, placements=shared)
    return CommandTool(name=name, program=of, argv=("log",), placements=placements)


def flag(name: str, **rest: Any) -> ArgumentPlacement:
    return ArgumentPlacement(name=name, place=PlacementKind.FLAG, flag=f"--{name}", **rest)


def guarded(**rules: ArgumentRule) -> Policy:
    return Policy(tools={"git_log": ToolRule(arguments=rules)})


def problems(rule: ArgumentRule, value: Any) -> list[str]:
    """Give what speaks against a call whose only argument is `value`."""
    return guarded(x=rule).check(log(flag("x")), {"x": value}, environ={})


# What a file says.


def test_whole_policy_is_read(load: Load) -> None:
    policy = load(
        """
        default = "enabled"
        approval = "destructive"
        headless = "approve"
        executor = "docker"

        [docker]
        image = "alpine/git:2.47"
        volumes = ["/repo:/repo:ro", "cache:/cache"]
        network = "bridge"
        working_dir = "/repo"

        [tools.git_push]
        enabled = false

        [tools.git_log]
        require_approval = true
        args.count = { min = 1, max = 50.5 }

        [tools.git_log.args.format]
        pattern = "[a-z]+"
        enum = ["short", 1, 1.5, true]
        """
    )

    assert policy == Policy(
        default=DefaultAccess.ENABLED,
        approval=Approval.DESTRUCTIVE,
        headless=HeadlessMode.APPROVE,
        executor=ExecutorName.DOCKER,
        docker=Docker(
            image="alpine/git:2.47",
            volumes=("/repo:/repo:ro", "cache:/cache"),
            network="bridge",
            working_dir="/repo",
        ),
        tools={
            "git_push": ToolRule(enabled=False),
            "git_log": ToolRule(
                require_approval=True,
                arguments={
                    "count": ArgumentRule(minimum=1, maximum=50.5),
                    "format": ArgumentRule(pattern=Pattern("[a-z]+"), choices=("short", 1, 1.5, True)),
                },
            ),
        },
    )


def test_file_that_lists_a_tool_enables_that_one_and_asks_before_it_writes(load: Load) -> None:
    assert load("[tools.git_log]") == Policy(default=DefaultAccess.DISABLED, tools={"git_log": ToolRule()})


def test_docker_has_no_network_unless_it_is_named(load: Load) -> None:
    policy = load('default = "enabled"\nexecutor = "docker"\ndocker.image = "x"')
    assert policy.docker == Docker(image="x", network="none", volumes=(), working_dir="")


def test_local_executor_can_be_set(load: Load) -> None:
    assert load('default = "enabled"\nexecutor = "local"').docker is None


def test_file_of_windows_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b'\xef\xbb\xbfdefault = "enabled"\r\napproval = "all"\r\n')
    assert load_policy(path) == Policy(approval=Approval.ALL)


# Its errors.


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.toml")), ids=lambda path: path.stem)
def test_errors_are_reported_at_once_with_position_and_hint(
    path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.chdir(POLICIES)
    known = [log(flag("count"), shared=(flag("host"),))] if path.stem == "unknown-names" else None
    with pytest.raises(PolicyError) as caught:
        load_policy(Path(path.name), known)

    assert str(caught.value).splitlines() == list(caught.value.mistakes)
    file_regression.check(f"{caught.value}\n", encoding="utf-8", newline="", fullpath=path.with_suffix(".stderr"))


def test_rules_for_tools_and_arguments_that_exist_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[tools.git_log.args]\ncount = { max = 5 }", encoding="utf-8")
    assert load_policy(path, [log(flag("count")), log(name="other")]) == load_policy(path)


def test_handler_can_be_disabled_and_asked_about_but_has_no_rules_for_arguments(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[tools.write]\nenabled = false\n[tools.move]\nrequire_approval = true\n", encoding="utf-8")
    policy = load_policy(path, [log()], handlers={"write": False, "move": False, "read": True})

    handlers = [policy.is_enabled(name, is_program=False) for name in ("write", "move", "read")]
    assert handlers == [False, True, True]
    assert not policy.is_enabled("git_log")
    assert policy.needs_approval("move", Risk.READ)

    path.write_text(
        "[tools.wirte]\n[tools.move.args]\nto = { max = 5 }\n[tools.read]\nrequire_approval = true\n", encoding="utf-8"
    )
    with pytest.raises(PolicyError) as caught:
        load_policy(path, [log()], handlers={"write": False, "move": False, "read": True})
    assert [mistake.removeprefix(f"{path}:") for mistake in caught.value.mistakes] == [
        "1:8: there is no tool `wirte`; did you mean `write`?",
        "3:1: tool `move` runs no program; only command tools have `args`; use `enabled` and `require_approval`",
        "5:1: tool `read` only reads and never asks for approval; use `enabled = false` to remove it",
    ]


@pytest.mark.parametrize("key", ["default", "approval", "headless", "executor", "docker", "tools"])
def test_a_misspelt_key_is_never_ignored(load: Load, key: str) -> None:
    with pytest.raises(PolicyError, match=f"did you mean `{key}`\\?"):
        load(f"{key}x = 1")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot read: No such file or directory"):
        load_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("content", [b"a = '\xff'", b"a = " + b"[" * 9000, b"a = " + b"9" * 5000, b"a = {"])
def test_a_file_that_cannot_be_parsed_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=r"policy\.toml:1:\d+: "):
        load_policy(path)


def test_a_policy_without_patterns_loads_no_pydantic(tmp_path: Path) -> None:
    """A server answers its first request without pydantic."""
    path = tmp_path / "policy.toml"
    path.write_text('default = "enabled"\n[tools.a.args.n]\nmax = 5\nenum = [1]\n', encoding="utf-8")
    script = (
        "import sys; from pathlib import Path; from toolmason_runtime.programs.policy_file import load_policy\n"
        f"load_policy(Path({str(path)!r})); print(sorted(each.partition('.')[0] for each in sys.modules))"
    )
    result = run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pydantic", "pydantic_core", "jsonschema"} & set(re.findall(r"'(\w+)'", result.stdout))


# What it lets run.


@pytest.mark.parametrize(
    ("policy", "name", "is_enabled"),
    [
        (Policy(), "a", True),
        (Policy(default=DefaultAccess.DISABLED), "a", False),
        (Policy(default=DefaultAccess.DISABLED, tools={"a": ToolRule()}), "a", True),
        (Policy(default=DefaultAccess.DISABLED, tools={"a": ToolRule()}), "b", False),
        (Policy(tools={"a": ToolRule(enabled=False)}), "a", False),
        (Policy(tools={"a": ToolRule(enabled=False)}), "b", True),
    ],
)
def test_tool_runs_only_if_it_is_enabled(policy: Policy, name: str, is_enabled: bool) -> None:
    """FR-015."""
    found = policy.check(log(name=name), {}, environ={})

    assert policy.is_enabled(name) is is_enabled
    assert found == ([] if is_enabled else [f"Tool {name} is disabled on this server"])


@pytest.mark.parametrize(
    ("approval", "asked"),
    [
        (Approval.NONE, []),
        (Approval.DESTRUCTIVE, [Risk.DESTRUCTIVE]),
        (Approval.WRITE, [Risk.WRITE, Risk.DESTRUCTIVE]),
        (Approval.ALL, list(Risk)),
    ],
)
def test_person_is_asked_about_calls_of_that_risk_or_a_greater_one(approval: Approval, asked: list[Risk]) -> None:
    policy = Policy(approval=approval, tools={"always": ToolRule(require_approval=True), "listed": ToolRule()})

    assert [risk for risk in Risk if policy.needs_approval("any", risk)] == asked
    assert [risk for risk in Risk if policy.needs_approval("listed", risk)] == asked
    assert all(policy.needs_approval("always", risk) for risk in Risk)


@pytest.mark.parametrize("approval", list(Approval))
def test_tool_can_be_left_out_of_approval(approval: Approval) -> None:
    policy = Policy(approval=approval, tools={"never": ToolRule(require_approval=False)})
    assert not any(policy.needs_approval("never", risk) for risk in Risk)


def test_the_default_policy_runs_locally_and_asks_about_writes() -> None:
    policy = Policy()
    assert (policy.approval, policy.headless, policy.docker) == (Approval.WRITE, HeadlessMode.DENY, None)
    assert {each.value for each in ExecutorName} == {"local", "docker"}


WORD = ArgumentRule(pattern=Pattern("[a-z]+"))
DIGITS = ArgumentRule(pattern=Pattern("[0-9]{1,2}"))
FEW = ArgumentRule(minimum=1, maximum=5)
CHOICE = ArgumentRule(choices=("short", 1, 2.5, True))


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (WORD, "abc"),
        (WORD, ["abc", "d"]),
        (WORD, True),  # it is written `true`
        (WORD, []),
        (DIGITS, 42),
        (DIGITS, [4, 2]),
        (ArgumentRule(pattern=Pattern("")), ""),
        (FEW, 1),
        (FEW, 5),
        (FEW, 5.0),
        (FEW, "3"),
        (FEW, "3.5"),
        (FEW, [1, 5]),
        (ArgumentRule(minimum=1), 10**400),
        (ArgumentRule(maximum=1), -1e300),
        (ArgumentRule(maximum=0.1), 0.1),
        (ArgumentRule(maximum=0.1), "1e-1"),
        (CHOICE, "short"),
        (CHOICE, 1),
        (CHOICE, 1.0),
        (CHOICE, "1"),
        (CHOICE, 2.5),
        (CHOICE, True),
        (CHOICE, ["short", 1]),
    ],
)
def test_value_that_fits_its_rule_is_allowed(rule: ArgumentRule, value: Any) -> None:
    """FR-015."""
    assert problems(rule, value) == []


@pytest.mark.parametrize(
    ("rule", "value", "reason"),
    [
        (WORD, "abc1", "must match `[a-z]+` as a whole"),
        (WORD, "1abc", "must match `[a-z]+` as a whole"),
        (WORD, "abc\n", "must match `[a-z]+` as a whole"),
        (WORD, "", "must match `[a-z]+` as a whole"),
        (WORD, 5, "must match `[a-z]+` as a whole"),
        (WORD, ["abc", "X"], "must match `[a-z]+` as a whole"),
        (ArgumentRule(pattern=Pattern("^a|b$")), "ab", "must match `^a|b$` as a whole"),
        (DIGITS, 100, "must match `[0-9]{1,2}` as a whole"),
        (DIGITS, -1, "must match `[0-9]{1,2}` as a whole"),
        (DIGITS, 4.5, "must match `[0-9]{1,2}` as a whole"),
        (FEW, 0, "must be a number from 1 to 5"),
        (FEW, 6, "must be a number from 1 to 5"),
        (FEW, 5.0000001, "must be a number from 1 to 5"),
        (FEW, [1, 6], "must be a number from 1 to 5"),
        (FEW, "6", "must be a number from 1 to 5"),
        (FEW, "nan", "must be a number from 1 to 5"),
        (FEW, "3 ", "must be a number from 1 to 5"),
        (FEW, "1_0", "must be a number from 1 to 5"),
        (FEW, "\u0663", "must be a number from 1 to 5"),
        (FEW, "0x3", "must be a number from 1 to 5"),
        (FEW, "inf", "must be a number from 1 to 5"),
        (FEW, "", "must be a number from 1 to 5"),
        (FEW, True, "must be a number from 1 to 5"),
        (FEW, {"a": 1}, "must be a string, a number, or true or false"),
        (ArgumentRule(minimum=1), 0, "must be a number of at least 1"),
        (ArgumentRule(maximum=2**53), 2**53 + 1, "must be a number of at most 9007199254740992"),
        (ArgumentRule(maximum=1), "1e9", "must be a number of at most 1"),
        (ArgumentRule(maximum=1), "-1e99999", "must be a number of at most 1"),
        (CHOICE, "Short", "must be one of: short, 1, 2.5, true"),
        (CHOICE, 2, "must be one of: short, 1, 2.5, true"),
        (CHOICE, False, "must be one of: short, 1, 2.5, true"),
        (CHOICE, ["short", "long"], "must be one of: short, 1, 2.5, true"),
        (ArgumentRule(choices=(1,)), True, "must be one of: 1"),
        (ArgumentRule(choices=(True,)), 1, "must be one of: true"),
    ],
)
def test_value_that_does_not_fit_its_rule_is_refused_by_name(rule: ArgumentRule, value: Any, reason: str) -> None:
    """FR-015, SC-005."""
    (problem,) = problems(rule, value)

    assert problem.startswith("Argument 'x[1]' " if isinstance(value, list) else "Argument 'x' ")
    assert reason in problem


def test_refusal_names_the_policy_and_the_value() -> None:
    """SC-005."""
    assert problems(FEW, 9) == ["Argument 'x' must be a number from 1 to 5, by the policy of this server; got 9"]


def test_all_refused_arguments_are_reported_at_once() -> None:
    policy = guarded(a=FEW, b=WORD, c=CHOICE)
    found = policy.check(log(flag("a"), flag("b"), flag("c")), {"a": [0, 3, 9], "b": "X", "c": "short"}, environ={})
    assert [each.split("'")[1] for each in found] == ["a[0]", "a[2]", "b"]


@pytest.mark.parametrize(("default", "is_allowed"), [(10, False), (5, True), ("nan", False), (None, True)])
def test_default_is_held_to_the_policy(default: Any, is_allowed: bool) -> None:
    """FR-015: a default of 10 is refused where 5 is the most."""
    which = log(flag("count", default=default))
    found = guarded(count=FEW).check(which, {}, environ={})

    assert (found == []) is is_allowed
    assert all(each.endswith(", its default") for each in found)
    assert guarded(count=FEW).check(which, {"count": None}, environ={}) == found
    assert guarded(count=FEW).check(which, {"count": 3}, environ={}) == []


@pytest.mark.parametrize(("host", "is_allowed"), [("test", True), ("live.example", False), ("", True)])
def test_default_from_the_environment_is_held_to_the_policy(host: str, is_allowed: bool) -> None:
    which = log(shared=(flag("host", default_env="GIT_HOST"),))
    assert (guarded(host=WORD).check(which, {}, environ={"GIT_HOST": host}) == []) is is_allowed


@pytest.mark.parametrize("place", [PlacementKind.POSITIONAL, PlacementKind.STDIN, PlacementKind.CWD])
def test_value_is_held_to_the_policy_wherever_it_goes(place: PlacementKind) -> None:
    which = log(ArgumentPlacement(name="x", place=place))

    assert guarded(x=WORD).check(which, {"x": "abc"}, environ={}) == []
    assert guarded(x=WORD).check(which, {"x": "../abc"}, environ={}) != []


def test_text_for_stdin_may_be_longer_than_any_argument() -> None:
    which = log(ArgumentPlacement(name="x", place=PlacementKind.STDIN))
    assert guarded(x=WORD).check(which, {"x": "a" * 1_000_000}, environ={}) == []


@pytest.mark.parametrize("pattern", [r"(\w+\s?)*", "(a+)+", "(a|a)*", "(.*a){20}"])
def test_no_text_keeps_a_pattern_busy(pattern: str) -> None:
    rule = ArgumentRule(pattern=Pattern(pattern))
    assert problems(rule, "a" * 100_000 + "!") != []


def test_rules_of_one_tool_are_not_those_of_another() -> None:
    assert guarded(x=FEW).check(log(flag("x"), name="git_show"), {"x": 9}, environ={}) == []


def test_switch_that_is_not_sent_is_false_for_the_policy() -> None:
    """A rule that demands a switch is no rule if it may be left out."""
    which = log(flag("dry_run", switch=True))
    demanded = guarded(dry_run=ArgumentRule(choices=("true",)))

    assert demanded.check(which, {"dry_run": True}, environ={}) == []
    assert len(demanded.check(which, {"dry_run": False}, environ={})) == 1
    assert len(demanded.check(which, {}, environ={})) == 1
    assert guarded(dry_run=ArgumentRule(choices=("false",))).check(which, {}, environ={}) == []


@pytest.mark.parametrize(("value", "is_allowed"), [(True, False), (False, True)])
def test_switch_can_be_forbidden(value: bool, is_allowed: bool) -> None:
    which = log(flag("force", switch=True))
    assert (
        guarded(force=ArgumentRule(choices=(False,))).check(which, {"force": value}, environ={}) == []
    ) is is_allowed


RULES = st.one_of(
    st.builds(lambda low, span: ArgumentRule(minimum=low, maximum=low + span), st.integers(-5, 5), st.integers(0, 5)),
    st.sampled_from([WORD, DIGITS, CHOICE, ArgumentRule(maximum=0.5), ArgumentRule(pattern=Pattern(".*[^-]"))]),
)
SINGLE = st.one_of(
    st.integers(-10, 10),
    st.floats(),
    st.booleans(),
    st.text(max_size=4),
    st.sampled_from(["nan", "inf", "-inf", "NaN", "1e3", "short", "abc", "abc1", "5", "-5", "abc\n", "0", "\0", ""]),
)


@given(
    RULES,
    st.one_of(SINGLE, st.lists(SINGLE, max_size=3), st.none()),
    st.none() | SINGLE,
    st.sampled_from([ArgumentPlacement(name="x", place=PlacementKind.POSITIONAL), flag("x")]),
)
@example(FEW, None, 10, flag("x"))
@example(FEW, "nan", None, flag("x"))
@example(WORD, ["abc", "abc1"], None, flag("x"))
def test_nothing_that_the_policy_refuses_reaches_the_command_line(
    rule: ArgumentRule, value: Any, default: Any, placement: ArgumentPlacement
) -> None:
    """FR-015: what is written, read back from the command line, always fits the rule."""
    which = log(ArgumentPlacement(name="x", place=placement.place, flag=placement.flag, default=default))
    if guarded(x=rule).check(which, {"x": value}, environ={}):
        return
    try:
        argv = build_invocation(which, {"x": value}, environ={}).argv[2:]
    except ToolError:
        return
    for text in (each for each in argv if each not in {"--x", "--"}):
        assert rule.pattern is None or re.fullmatch(rule.pattern.text, text)
        assert rule.choices is None or text in {"short", "1", "1.0", "2.5", "true"}
        assert rule.minimum is None or float(text) >= rule.minimum
        assert rule.maximum is None or float(text) <= rule.maximum
