"""What a policy file says, what is wrong with one, and what it lets run: FR-015."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toolmason_runtime.programs.argv import invocation
from toolmason_runtime.programs.key_lines import key_lines
from toolmason_runtime.programs.linear_regex import Pattern
from toolmason_runtime.programs.policy import (
    Approval,
    ArgumentRule,
    Docker,
    ExecutorName,
    Headless,
    Listing,
    Policy,
    ToolRule,
)
from toolmason_runtime.programs.policy_file import PolicyError, load_policy
from toolmason_runtime.programs.spec import CommandTool, Place, Placement, Program, Risk
from toolmason_runtime.protocol.errors import ToolError

Load = Callable[[str], Policy]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Read a policy of that text."""

    def read(text: str) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return load_policy(path)

    return read


@pytest.fixture
def mistakes(load: Load, tmp_path: Path) -> Callable[[str], list[str]]:
    """Give what is wrong with a policy of that text, each as `line: message`."""

    def read(text: str) -> list[str]:
        with pytest.raises(PolicyError) as caught:
            load(text)
        assert str(caught.value).splitlines() == list(caught.value.mistakes)
        return [each.removeprefix(f"{tmp_path / 'policy.toml'}:").strip() for each in caught.value.mistakes]

    return read


Mistakes = Callable[[str], list[str]]


def log(*placements: Placement, shared: tuple[Placement, ...] = (), name: str = "git_log") -> CommandTool:
    of = Program(name="git", command=("git",), ends_options=True, placements=shared)
    return CommandTool(name=name, program=of, argv=("log",), placements=placements)


def flag(name: str, **rest: Any) -> Placement:
    return Placement(name=name, place=Place.FLAG, flag=f"--{name}", **rest)


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
        default=Listing.ENABLED,
        approval=Approval.DESTRUCTIVE,
        headless=Headless.APPROVE,
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
    assert load("[tools.git_log]") == Policy(default=Listing.DISABLED, tools={"git_log": ToolRule()})


def test_docker_has_no_network_unless_it_is_named(load: Load) -> None:
    policy = load('default = "enabled"\nexecutor = "docker"\ndocker.image = "x"')
    assert policy.docker == Docker(image="x", network="none", volumes=(), working_dir="")


def test_local_executor_can_be_said(load: Load) -> None:
    assert load('default = "enabled"\nexecutor = "local"').docker is None


def test_file_of_windows_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b'\xef\xbb\xbfdefault = "enabled"\r\napproval = "all"\r\n')
    assert load_policy(path) == Policy(approval=Approval.ALL)


# What is wrong with one.


CONTAINER = 'executor = "docker"\n[tools.a]\n[docker]\n'
CHOICES = "`enum` must be an array of texts, finite numbers, true or false, and not empty"
LINE = "must be a text of one line that does not start with `-`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '1: no tool is enabled: write default = "enabled", or a table [tools.NAME] for each that is'),
        ("tools = {}", '1: no tool is enabled: write default = "enabled", or a table [tools.NAME] for each that is'),
        ('aproval = "all"\n[tools.a]', "1: unknown key `aproval`: did you mean `approval`?"),
        ("xyzzy = 1\n[tools.a]", "1: unknown key `xyzzy`"),
        ('\ndefault = "on"', '2: `default` must be one of: enabled, disabled; got "on"'),
        ("[tools.a]\n[headless]", "2: `headless` must be one of: deny, approve; got an object with 0 members"),
        ("approval = true\n[tools.a]", "1: `approval` must be one of: none, destructive, write, all; got true"),
        ('headless = ["deny"]\n[tools.a]', "1: `headless` must be one of: deny, approve; got an array of 1 item"),
        ("tools = 3", "1: `tools` must be a table; got 3"),
        ("[tools]\n\ngit_log = true", "3: `git_log` must be a table; got true"),
        ("[[tools.git_log]]", "1: `git_log` must be a table; got an array of 1 item"),
        ("[tools.a]\nenable = false", "2: unknown key `enable` in [tools.a]: did you mean `enabled`?"),
        ("[tools.a]\nenabled = 0", "2: `enabled` must be true or false; got 0"),
        ('[tools.a]\nrequire_approval = "no"', '2: `require_approval` must be true or false; got "no"'),
        ("[tools.a]\nargs = 1", "2: `args` must be a table; got 1"),
        ("[tools.a.args]\nn = 5", "2: `n` must be a table; got 5"),
        ("[tools.a.args]\nn = {}", "2: `n` has no rule: give it pattern, min, max or enum"),
        ("[tools.a.args.n]\nmaximum = 5", "2: unknown key `maximum` in [tools.a.args.n]: did you mean `max`?"),
        ("[tools.a.args.n]\nmax = nan", "2: `max` must be a finite number; got NaN"),
        ("[tools.a.args.n]\nmin = -inf", "2: `min` must be a finite number; got -Infinity"),
        ("[tools.a.args.n]\nmin = true", "2: `min` must be a finite number; got true"),
        ('[tools.a.args.n]\nmin = "1"', '2: `min` must be a finite number; got "1"'),
        ("[tools.a.args.n]\nmin = 2020-01-01", "2: `min` must be a finite number; got 2020-01-01"),
        (
            f"[tools.a.args.n]\nmin = 0x{'f' * 4000}",
            "2: `min` must be a finite number; got a number of too many digits",
        ),
        ("[tools.a.args.n]\nmin = 5\nmax = 4", "3: `max` is less than `min`: 4 < 5"),
        ("[tools.a.args.n]\npattern = 1", "2: `pattern` must be a regular expression; got 1"),
        (
            '[tools.a.args.n]\npattern = "("',
            "2: `pattern` cannot be used: unclosed group",
        ),
        (
            '[tools.a.args.n]\npattern = "x{99999999999}"',
            "2: `pattern` cannot be used: decimal literal invalid",
        ),
        ('[tools.a.args.n]\npattern = "a)|(?:b"', "2: `pattern` cannot be used: unopened group"),
        (
            '[tools.a.args.n]\npattern = "(?!-).*"',
            (
                "2: `pattern` cannot be used: look-around, including look-ahead and look-behind, is not supported: "
                "say what may be there instead, or list what is allowed with `enum`"
            ),
        ),
        (
            "[tools.a.args.n]\npattern = '(a|b)\\1'",
            (
                "2: `pattern` cannot be used: backreferences are not supported: "
                "write the text out, or list what is allowed with `enum`"
            ),
        ),
        (
            "[tools.a.args.n]\npattern = '\\w{9999}'",
            (
                "2: `pattern` cannot be used: Compiled regex exceeds size limit of 10485760 bytes: "
                "repeat fewer times, or a class of fewer characters: `[A-Za-z0-9_]` in place of `\\w`"
            ),
        ),
        ("[tools.a.args.n]\nenum = []", f"2: {CHOICES}; got an array of 0 items"),
        ('[tools.a.args.n]\nenum = "x"', f'2: {CHOICES}; got "x"'),
        ("[tools.a.args.n]\nenum = [1, nan]", f"2: {CHOICES}; got an array of 2 items"),
        ("[tools.a.args.n]\nenum = [[1]]", f"2: {CHOICES}; got an array of 1 item"),
        ('executor = "podman"\n[tools.a]', '1: `executor` must be one of: local, docker; got "podman"'),
        ('executor = "docker"\n[tools.a]', '1: executor = "docker" needs a table [docker] with an `image`'),
        ('[tools.a]\n[docker]\nimage = "x"', '2: only executor = "docker" has a table [docker]'),
        (
            'executor = "local"\n[tools.a]\n[docker]\nimage = "x"',
            '3: only executor = "docker" has a table [docker]',
        ),
        ('executor = "docker"\ndocker = 1\n[tools.a]', "2: `docker` must be a table; got 1"),
        (f"{CONTAINER}", "3: [docker] needs an `image`"),
        (f'{CONTAINER}image = "x"\nuser = "me"', "5: unknown key `user` in [docker]"),
        (f'{CONTAINER}image = "--privileged"', f'4: `image` {LINE}; got "--privileged"'),
        (f'{CONTAINER}image = "x"\nnetwork = ""', f'5: `network` {LINE}; got ""'),
        (f'{CONTAINER}image = "x"\nworking_dir = "a\\nb"', f'5: `working_dir` {LINE}; got "a\\nb"'),
        (
            f'{CONTAINER}image = "x"\nvolumes = "/a:/b"',
            '5: `volumes` must be an array of texts such as `/here:/there:ro`; got "/a:/b"',
        ),
        (
            f'{CONTAINER}image = "x"\nvolumes = ["/a:/b", "c"]',
            "5: `volumes` must be an array of texts such as `/here:/there:ro`; got an array of 2 items",
        ),
        ('default = "enabled"\n\nx = = 1', "3: Invalid value"),
        ("a = 1\na = 2\nb = 3", "2: Cannot overwrite a value"),
        ("a = [1,", "Invalid value (at end of document)"),
    ],
)
def test_mistake_is_told_with_its_line(mistakes: Mistakes, text: str, expected: str) -> None:
    assert mistakes(text) == [expected]


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(mistakes: Mistakes) -> None:
    found = mistakes(
        """\
headless = "maybe"
approval = "sometimes"
[tools.git_log.args.count]
max = "5"
pattern = "["
[tools.git_log]
on = true
"""
    )
    assert [each.split(":")[0] for each in found] == ["1", "2", "4", "5", "7"]


@pytest.mark.parametrize("key", ["default", "approval", "headless", "executor", "docker", "tools"])
def test_key_with_a_letter_too_many_is_never_taken_for_nothing(mistakes: Mistakes, key: str) -> None:
    assert any(f"did you mean `{key}`?" in each for each in mistakes(f"{key}x = 1"))


def test_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot read: No such file or directory"):
        load_policy(tmp_path / "policy.toml")


def test_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(PolicyError, match="not UTF-8 at byte 5"):
        load_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("text", [f"a = {'[' * 9000}", f"a = {'9' * 5000}", "a = {"])
def test_file_that_no_parser_takes_is_a_mistake_of_its_author(load: Load, text: str) -> None:
    with pytest.raises(PolicyError):
        load(text)


# Where keys stand.


def test_line_of_each_key_is_found_past_strings_and_arrays_that_look_like_keys() -> None:
    text = '''\
# default = 1
"a=b" = """
[no]
x = 1
""" # [no]
[ tools . "git log" ]   # ]
enabled = [
  "x = 1", # y = 2
  '[no]',
]
'lite.ral' . c = { d = "}", e = ["["] }
n = \'\'\'
y = "\'\'\'
[[rows]]
k.l = 1
[[rows]]
k.l = 2
'''
    assert key_lines(text) == {
        ("a=b",): 2,
        ("tools",): 6,
        ("tools", "git log"): 6,
        ("tools", "git log", "enabled"): 7,
        ("tools", "git log", "lite.ral"): 11,
        ("tools", "git log", "lite.ral", "c"): 11,
        ("tools", "git log", "n"): 12,
        ("rows",): 16,
        ("rows", "k"): 15,
        ("rows", "k", "l"): 17,
    }


def test_table_stands_at_its_header_even_if_it_was_mentioned_before() -> None:
    assert key_lines("[a.b]\n\n[a]\n")[("a",)] == 3


def test_key_inside_an_inline_table_has_the_line_of_the_table(mistakes: Mistakes) -> None:
    text = "[tools.a.args]\nm = { max = 3 }\nn = { min = 1, max = [\n nan,\n] }"
    assert mistakes(text) == ["3: `max` must be a finite number; got an array of 1 item"]


KEYS = st.sampled_from(["a", "b-1", '"c d"', '"e]=["', "'f#'", '"g\\n\\""'])
VALUES = st.sampled_from(
    [
        "1",
        '"x = 1"',
        '"""\n[no]\nq = 1\n"""',
        "[\n 1, # ]\n 2,\n]",
        "{ z = 1 }",
        "'''\n'''",
        '"#"',
        "2020-01-01 10:00:00",
    ]
)
LINES = st.one_of(
    st.builds("{} = {} # c = 1".format, st.lists(KEYS, min_size=1, max_size=3).map(" . ".join), VALUES),
    st.builds("[{}]".format, st.lists(KEYS, min_size=1, max_size=3).map(".".join)),
    st.sampled_from(["", "# [no]", "  # x = 1"]),
)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_every_key_that_tomllib_finds_has_a_line_on_which_it_is_written(text: str) -> None:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = key_lines(text)
    rows = text.split("\n")
    for path in outer_keys(data):
        raw = {"c d": '"c d"', "e]=[": '"e]=["', "f#": "'f#'", 'g\n"': '"g\\n\\""'}.get(path[-1], path[-1])
        assert raw in rows[lines[path] - 1]
    assert set(lines) == set(outer_keys(data))


def outer_keys(data: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List the keys of `data`, but for those of the one inline table that is drawn."""
    found = []
    for name, value in data.items():
        found.append((*path, name))
        if isinstance(value, dict) and value != {"z": 1}:
            found += outer_keys(value, (*path, name))
    return found


# What it lets run.


@pytest.mark.parametrize(
    ("policy", "name", "is_enabled"),
    [
        (Policy(), "a", True),
        (Policy(default=Listing.DISABLED), "a", False),
        (Policy(default=Listing.DISABLED, tools={"a": ToolRule()}), "a", True),
        (Policy(default=Listing.DISABLED, tools={"a": ToolRule()}), "b", False),
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


def test_without_a_file_everything_runs_here_and_what_writes_is_asked_about() -> None:
    policy = Policy()
    assert (policy.approval, policy.headless, policy.docker) == (Approval.WRITE, Headless.DENY, None)
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
        (FEW, math.nan, "must be a finite number"),
        (FEW, math.inf, "must be a finite number"),
        (FEW, {"a": 1}, "must be a text, a number, or true or false"),
        (WORD, math.nan, "must be a finite number"),
        (CHOICE, math.nan, "must be a finite number"),
        (ArgumentRule(minimum=1), 0, "must be a number of at least 1"),
        (ArgumentRule(minimum=1), math.inf, "must be a finite number"),
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


def test_refusal_says_whose_rule_it_is_and_what_was_got() -> None:
    """SC-005."""
    assert problems(FEW, 9) == ["Argument 'x' must be a number from 1 to 5, by the policy of this server; got 9"]


def test_all_that_is_refused_is_told_at_once() -> None:
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


@pytest.mark.parametrize("place", [Place.POSITIONAL, Place.STDIN, Place.CWD])
def test_value_is_held_to_the_policy_wherever_it_goes(place: Place) -> None:
    which = log(Placement(name="x", place=place))

    assert guarded(x=WORD).check(which, {"x": "abc"}, environ={}) == []
    assert guarded(x=WORD).check(which, {"x": "../abc"}, environ={}) != []


def test_text_for_stdin_may_be_longer_than_any_argument() -> None:
    which = log(Placement(name="x", place=Place.STDIN))
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
    st.sampled_from([Placement(name="x", place=Place.POSITIONAL), flag("x")]),
)
@example(FEW, None, 10, flag("x"))
@example(FEW, "nan", None, flag("x"))
@example(WORD, ["abc", "abc1"], None, flag("x"))
def test_nothing_that_the_policy_refuses_reaches_the_command_line(
    rule: ArgumentRule, value: Any, default: Any, placement: Placement
) -> None:
    """FR-015: what is written, read back from the command line, always fits the rule."""
    which = log(Placement(name="x", place=placement.place, flag=placement.flag, default=default))
    if guarded(x=rule).check(which, {"x": value}, environ={}):
        return
    try:
        argv = invocation(which, {"x": value}, environ={}).argv[2:]
    except ToolError:
        return
    for text in (each for each in argv if each not in {"--x", "--"}):
        assert rule.pattern is None or re.fullmatch(rule.pattern.text, text)
        assert rule.choices is None or text in {"short", "1", "1.0", "2.5", "true"}
        assert rule.minimum is None or float(text) >= rule.minimum
        assert rule.maximum is None or float(text) <= rule.maximum


# Rules for what is not there.


def test_rule_for_a_tool_or_an_argument_that_is_not_there_is_told_with_its_line(load: Load, tmp_path: Path) -> None:
    policy = load(
        """\
default = "enabled"
[tools.git_logs]
[tools.git_log.args]
count = { max = 5 }
cuont = { max = 5 }
host = { max = 5 }
[tools.xyzzy]
"""
    )
    which = log(flag("count"), shared=(flag("host"),))
    path = tmp_path / "policy.toml"

    assert policy.misfits([which]) == [
        f"{path}:2: there is no command tool `git_logs`: did you mean `git_log`?",
        f"{path}:5: tool `git_log` has no argument `cuont`: did you mean `count`?",
        f"{path}:7: there is no command tool `xyzzy`",
    ]


def test_policy_that_fits_its_tools_has_no_misfits(load: Load) -> None:
    policy = load("[tools.git_log.args]\ncount = { max = 5 }")
    assert policy.misfits([log(flag("count")), log(name="other")]) == []
