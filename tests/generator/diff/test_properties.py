"""Properties of comparisons of random contracts: what "safe" promises, and how severities of two steps add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolmason.diff.compare import compare
from toolmason.diff.contract import Contract, ToolContract
from toolmason.diff.counterexamples import samples
from toolmason.diff.rules import Severity, rules, worst
from toolmason.diff.schema_parts import closed

NAMES: Final = ["text", "limit", "max_notes"]
VALUES: Final[st.SearchStrategy[Any]] = st.one_of(
    st.builds(
        lambda low, high, nullable: {
            "type": ["integer", "null"] if nullable else "integer",
            **({} if low is None else {"minimum": low}),
            **({} if high is None else {"maximum": high}),
        },
        st.none() | st.integers(0, 2),
        st.none() | st.integers(5, 7),
        st.booleans(),
    ),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.sampled_from([-1, 0, 1])),
    st.builds(
        lambda most, least: {"type": "string", "minLength": least, "maxLength": most},
        st.integers(2, 4),
        st.integers(0, 1),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True)),
    st.builds(
        lambda kinds: {"anyOf": [{"type": kind} for kind in kinds]},
        st.lists(st.sampled_from(["integer", "string", "boolean"]), min_size=1, unique=True),
    ),
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]),
)
NESTED: Final[st.SearchStrategy[Any]] = VALUES | st.builds(
    lambda part, most: {"type": "array", "items": part, "maxItems": most}, VALUES, st.integers(1, 3)
)


FLAGS: Final[st.SearchStrategy[Any]] = st.booleans()


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    properties: dict[str, Any] = draw(st.dictionaries(st.sampled_from(NAMES), NESTED, min_size=1, max_size=2))
    required: list[str] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    for name, value in properties.items():
        defaults = [found for found in samples(value, value) if Draft202012Validator(value).is_valid(found)]
        if name not in required and defaults and draw(FLAGS):
            properties[name] = value | {"default": defaults[draw(st.integers(0, min(2, len(defaults) - 1)))]}
    return {"type": "object", "properties": properties, "required": required}


EDITS: Final = ["replace", "remove", "add", "optional", "required", "rename", "default", "bounds", "null"]


@st.composite
def edited(draw: st.DrawFn, schema: dict[str, Any], aliases: dict[str, str]) -> dict[str, Any]:
    """A schema after one or two edits, some of which are compatible; aliases of renamed arguments are added."""
    properties, required = dict(schema["properties"]), list(schema["required"])
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=2)):
        free = [name for name in NAMES if name not in properties and name not in aliases]
        if edit == "add" and free:
            properties[free[0]] = draw(NESTED)
        if not properties:
            continue
        name = draw(st.sampled_from(sorted(properties)))
        value = dict(properties[name])
        match edit:
            case "replace":
                properties[name] = draw(NESTED)
            case "remove":
                del properties[name]
            case "required":
                required.append(name)
            case "optional" if name in required:
                required.remove(name)
            case "rename" if free:
                properties = {free[0] if key == name else key: part for key, part in properties.items()}
                required = [free[0] if key == name else key for key in required]
                if draw(st.booleans()):
                    aliases[name] = free[0]
            case "default":
                value.pop("default", None)
                properties[name] = value
            case "bounds":
                limits = {"minimum", "maximum", "minLength", "maxLength", "maxItems", "exclusiveMinimum"}
                properties[name] = {key: part for key, part in value.items() if key not in limits}
            case "null":
                properties[name] = {"anyOf": [value, {"type": "null"}]}
    required = [name for name in dict.fromkeys(required) if name in properties]
    return {"type": "object", "properties": properties, "required": required}


@st.composite
def successors(draw: st.DrawFn, contract: Contract) -> Contract:
    """A contract after some edits of another one."""
    tool = contract.tools["find_notes"]
    aliases = dict(tool.argument_aliases)
    arguments = draw(edited(tool.arguments, aliases))
    result = tool.result and draw(edited(tool.result, {}))
    aliases = {alias: name for alias, name in aliases.items() if name in arguments["properties"]}
    new = replace(tool, arguments=arguments, listed=arguments, result=result, argument_aliases=aliases)
    return replace(contract, tools={tool.name: new})


@st.composite
def steps(draw: st.DrawFn, count: int) -> list[Contract]:
    """Contracts, each after edits of the one before."""
    found = [draw(contracts())]
    for _ in range(count - 1):
        found.append(draw(successors(found[-1])))
    return found


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    arguments = draw(objects())
    free = [name for name in NAMES if name not in arguments["properties"]]
    aliases = {
        alias: draw(st.sampled_from(sorted(arguments["properties"])))
        for alias in free
        if arguments["properties"] and draw(st.booleans())
    }
    tool = ToolContract(
        name="find_notes",
        arguments=arguments,
        listed=arguments,
        result=draw(st.none() | objects()),
        argument_aliases=aliases,
        hints={"readOnlyHint": draw(st.booleans())},
    )
    return Contract(source="random", tools={tool.name: tool}, is_exact=True)


def severity(old: Contract, new: Contract) -> Severity | None:
    """The worst severity of the changes."""
    return worst(rules()[change.rule].severity for change in compare(old, new))


def normalized(tool: ToolContract, call: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a handler receives."""
    named = {tool.argument_aliases.get(name, name): value for name, value in call.items()}
    defaults = {name: part["default"] for name, part in tool.arguments["properties"].items() if "default" in part}
    return defaults | named


@settings(max_examples=120, deadline=None)
@given(pair=steps(2))
def test_after_a_safe_change_each_call_is_valid_with_the_same_arguments(pair: list[Contract]) -> None:
    old, new = pair
    event(str(severity(old, new)))
    if severity(old, new) not in {None, Severity.SAFE}:
        return
    before, after = old.tools["find_notes"], new.tools["find_notes"]
    rejects, accepts = (Draft202012Validator(closed(tool.arguments)) for tool in (after, before))
    for call in samples(closed(before.arguments), after.arguments):
        if not accepts.is_valid(call) or not set(call) <= set(before.arguments["properties"]):
            continue
        received = normalized(after, call)
        assert set(received) <= set(after.arguments["properties"])
        assert rejects.is_valid(received), (call, received)
        renamed = {name: after.argument_aliases.get(name, name) for name in before.arguments["properties"]}
        expected = {renamed[name]: value for name, value in normalized(before, call).items()}
        assert {name: received[name] for name in expected} == expected


@settings(max_examples=100, deadline=None)
@given(pair=steps(2))
def test_after_a_safe_change_each_result_was_valid_before(pair: list[Contract]) -> None:
    old, new = pair
    before, after = old.tools["find_notes"].result, new.tools["find_notes"].result
    if severity(old, new) in {None, Severity.SAFE} and before is not None and after is not None:
        validator, valid = Draft202012Validator(before), Draft202012Validator(after)
        assert [
            value for value in samples(after, before) if valid.is_valid(value) and not validator.is_valid(value)
        ] == []


@settings(max_examples=30, deadline=None)
@given(contract=contracts())
def test_a_contract_has_no_changes_to_itself(contract: Contract) -> None:
    assert compare(contract, contract) == ()


@settings(max_examples=60, deadline=None)
@given(contracts=steps(3))
def test_the_severity_of_a_change_is_that_of_one_of_its_steps_at_most(contracts: list[Contract]) -> None:
    first, second, third = contracts
    of_steps = worst(found for pair in ((first, second), (second, third)) if (found := severity(*pair)) is not None)
    whole = severity(first, third)
    if whole is not None:
        assert of_steps is not None
        assert of_steps.rank <= whole.rank
