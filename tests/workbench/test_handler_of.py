"""Handlers that are imported at their first call: their names, their modules, and their errors."""

from __future__ import annotations

from typing import Any

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.calls.binding import Binding

import workbench_handlers.research
from workbench_handlers.first_call import first_call, handler_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", workbench_handlers.research.__all__)
def test_each_handler_of_research_exists_and_has_the_name_of_its_module(name: str) -> None:
    binding = Binding(None, getattr(workbench_handlers.research, name))
    binding.prepare()

    assert binding.name.startswith("workbench_research.")
    assert binding.name.endswith(f":{name}")


async def test_arguments_and_errors_are_those_of_the_handler() -> None:
    run = handler_of("workbench_research.validate_paths", "validate_paths")

    with pytest.raises(ToolError):
        await run(None, _CallWithoutState())


class _CallWithoutState:
    def state(self, _type: type) -> Any:
        raise ToolError("no state")


def test_a_handler_declares_its_first_call() -> None:
    @first_call(imports="colorsys", starts_programs=True)
    async def handler(params: Any, call: Any) -> None:
        pass

    binding = Binding(None, handler)
    assert (handler.modules, binding.starts_programs) == (("colorsys",), True)  # type: ignore[attr-defined]
    assert not Binding(None, first_call()(lambda *_: None)).starts_programs
