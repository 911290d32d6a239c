"""The arguments of Workbench's command tools are checked without their models, with the same results."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.binding import Binding, load_model
from toolmason_runtime.programs.handler import sent_arguments

from workbench_server.catalogue import CATALOGUE

PROGRAMS = [name for name, entry in CATALOGUE["tools"].items() if "cli" in entry]
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        ["", "a", "HEAD", "all", "10,20", "5", "true", 0, 1, 5, 10**6, 2.0, None, True, [], ["a"], [1], {}]
    ),
    st.text(max_size=8),
)


def binding_of(tool: str) -> Binding:
    module = CATALOGUE["categories"][CATALOGUE["tools"][tool]["category"]]["module"]
    binding: Binding = import_module(f"workbench_server.{module}.bindings").BINDINGS[tool]
    return binding


def outcome(validator: ArgumentValidator, arguments: dict[str, Any]) -> str:
    try:
        result = validator.validate(arguments)
    except ToolError as error:
        return f"{error.code}: {error.message}"
    return repr((sent_arguments(result.value), result.notes))


@pytest.mark.parametrize("tool", PROGRAMS)
def test_examples_are_valid_without_the_model(tool: str) -> None:
    entry = CATALOGUE["tools"][tool]
    validator = ArgumentValidator(entry, "no_such_module:Model")

    for example in entry["examples"]:
        assert validator.validate(example["arguments"]).value == example["arguments"]


@pytest.mark.parametrize("tool", PROGRAMS)
@settings(max_examples=25)
@given(data=st.data())
def test_arguments_have_the_values_and_errors_of_the_model(tool: str, data: st.DataObject) -> None:
    entry, reference = CATALOGUE["tools"][tool], binding_of(tool).params
    assert isinstance(reference, str)
    names = (*entry["tool"]["inputSchema"].get("properties", {}), "unknown")
    arguments = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))
    for name in entry["tool"]["inputSchema"].get("required", ()):
        arguments.setdefault(name, data.draw(VALUES))

    without = outcome(ArgumentValidator(entry, reference), arguments)

    assert without == outcome(ArgumentValidator(entry, load_model(reference)), arguments)
