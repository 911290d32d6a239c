"""Ordinary functions as tools: arguments become their types, results become JSON."""

from __future__ import annotations

import datetime as dt
import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from toolmason_runtime import ImportedFunction, ToolError
from toolmason_runtime.serving import Model

pytestmark = pytest.mark.anyio


class Color(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


class Line(BaseModel):
    points: list[Point]


class FrameworkToolError(Exception):
    """A stand-in for the `ToolError` of another package."""


FrameworkToolError.__name__ = "ToolError"


class PointParams(Model):
    x: int
    y: int = 7


def typed(day: dt.date, color: Color, line: Line, path: Path, labels: set[str] | None = None) -> list[Any]:
    return [type(day).__name__, color.name, line.points[0].x, path.name, labels]


def area(point: Point, scale: float = Field(default=2, gt=0)) -> Point:
    return Point(point.x * int(scale), point.y)


def point(x: int, y: int = 9) -> list[int]:
    return [x, y]


async def later(number: int) -> int:
    return number + 1


def thread() -> str:
    return threading.current_thread().name


def fail() -> None:
    raise FrameworkToolError("send another number")


def broken() -> None:
    raise ValueError("internal")


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (
            typed,
            {"day": "2026-01-02", "color": "red", "line": {"points": [{"x": 3}]}, "path": "a/b"},
            ["date", "RED", 3, "b", None],
        ),
        (area, {"point": {"x": 2}}, {"x": 4, "y": 0}),
        (area, {"point": {"x": 2}, "scale": 3}, {"x": 6, "y": 0}),
        (later, {"number": "4"}, 5),
    ],
)
async def test_arguments_and_results_are_converted(
    function: Callable[..., Any], arguments: dict[str, Any], result: Any
) -> None:
    assert await ImportedFunction(function).data(arguments) == result


async def test_arguments_that_a_call_omits_are_not_passed() -> None:
    assert await ImportedFunction(point).data(PointParams(x=1)) == [1, 9]
    assert await ImportedFunction(point).data(PointParams(x=1, y=2)) == [1, 2]


async def test_functions_without_async_run_in_a_thread() -> None:
    assert await ImportedFunction(thread).text({}) != threading.current_thread().name


@pytest.mark.parametrize(
    ("function", "text"),
    [(lambda: "plain", "plain"), (lambda: None, "Done."), (lambda: {"é": [1]}, '{"é": [1]}'), (lambda: 3, "3")],
)
async def test_results_become_text(function: Callable[..., Any], text: str) -> None:
    assert await ImportedFunction(function).text({}) == text


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (area, {"point": {"x": "far"}}, "Argument 'point.x' is invalid: Input should be a valid integer"),
        (area, {"point": {"x": 1}, "scale": 0}, "Argument 'scale' is invalid: Input should be greater than 0"),
        (fail, {}, "send another number"),
    ],
)
async def test_errors_for_the_model_are_passed_on(
    function: Callable[..., Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolError, match=f"^{message}"):
        await ImportedFunction(function).data(arguments)


async def test_other_errors_stay_errors_of_the_server() -> None:
    with pytest.raises(ValueError, match="internal"):
        await ImportedFunction(broken).data({})
