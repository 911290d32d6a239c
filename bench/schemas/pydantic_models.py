"""Arguments of imaginary tools as Pydantic models: `python -m bench.schemas.pydantic_models` writes what becomes.

They are written as people write them for FastMCP and for agents' frameworks, with what makes such schemas hard:
references, recursion, tagged unions, nullable lists, tuples, numbers to choose from, maps, `Any`.
"""

# ruff: noqa: D101, D103, PYI030, PYI061, UP  without a docstring there is no description; old spellings are in use too

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    JsonValue,
    PositiveInt,
    RootModel,
    TypeAdapter,
)

CORPUS = Path(__file__).parent / "corpus" / "pydantic.jsonl"


class GetForecast(BaseModel):
    city: str
    days: int = 3


class SearchDocuments(BaseModel):
    query: str = Field(description="Words to look for")
    limit: int = Field(10, ge=1, le=100, description="Most documents to give")
    offset: int = Field(0, ge=0)


class SendMail(BaseModel):
    """Send a mail."""

    to: list[str] = Field(min_length=1, max_length=50, description="Who gets it")
    subject: str = Field(max_length=200)
    body: str
    cc: list[str] | None = None
    reply_to: str | None = Field(None, description="Where answers go")


class Priority(StrEnum):
    low = "low"
    normal = "normal"
    high = "high"


class CreateTicket(BaseModel):
    title: str = Field(min_length=3, max_length=120, description="What it is about, in one line")
    priority: Priority = Priority.normal
    labels: list[str] = Field(default_factory=list, max_length=10)
    due: date | None = None
    assignee: UUID | None = None


class Level(IntEnum):
    debug = 10
    info = 20
    warning = 30
    error = 40


class QueryLogs(BaseModel):
    service: str
    least_level: Level = Level.info
    since: datetime | None = None
    until: datetime | None = None
    pattern: str | None = Field(None, description="Regular expression", max_length=500)


class FileRange(BaseModel):
    """One file, or a part of it."""

    path: str = Field(description="Path relative to the workspace")
    start_line: int | None = Field(None, ge=1)
    end_line: int | None = Field(None, ge=1)


class ReadFiles(BaseModel):
    files: list[FileRange] = Field(min_length=1, description="What to read")
    encoding: Literal["utf-8", "latin-1"] = "utf-8"


class Replacement(BaseModel):
    old: str
    new: str
    count: Literal[1, 2, 3] = 1


class EditFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str
    edits: list[Replacement]
    dry_run: bool = False


class Point(BaseModel):
    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class PlanRoute(BaseModel):
    start: Point = Field(description="Where the route begins")
    end: Point = Field(description="Where it ends")
    via: list[Point] | None = None
    mode: Literal["car", "bike", "foot"] = "car"
    avoid: set[Literal["tolls", "ferries", "highways"]] = Field(default_factory=set)


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Rectangle(BaseModel):
    kind: Literal["rectangle"]
    width: float = Field(gt=0)
    height: float = Field(gt=0)


class Polygon(BaseModel):
    kind: Literal["polygon"]
    corners: list[Point] = Field(min_length=3)


class DrawShape(BaseModel):
    shape: Annotated[Circle | Rectangle | Polygon, Field(discriminator="kind", description="What to draw")]
    colour: str = Field("black", pattern="^#[0-9a-f]{6}$|^[a-z]+$")


class DrawShapes(BaseModel):
    shapes: list[Annotated[Circle | Rectangle, Field(discriminator="kind")]]


class Folder(BaseModel):
    name: str
    children: list[Folder] = Field(default_factory=list)


class MakeTree(BaseModel):
    root: Folder
    overwrite: bool = False


class Comment(BaseModel):
    author: str
    text: str
    replies: list[Comment] | None = None


class ImportThread(BaseModel):
    comments: list[Comment]


class Condition(BaseModel):
    field: str
    operator: Literal["eq", "ne", "lt", "gt", "in", "contains"]
    value: str | int | float | bool | list[str]


class Group(BaseModel):
    """Conditions joined by one word."""

    join: Literal["and", "or"] = "and"
    conditions: list[Condition | Group]


class FilterRows(BaseModel):
    table: str
    where: Group | None = None
    order_by: list[tuple[str, Literal["asc", "desc"]]] = Field(default_factory=list)
    limit: PositiveInt = 100


class RunQuery(BaseModel):
    sql: str
    parameters: list[Any] = Field(default_factory=list)
    timeout: float | None = Field(None, gt=0, le=300)


class RunNamedQuery(BaseModel):
    name: str
    parameters: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class SetMetadata(BaseModel):
    key: str
    value: JsonValue


class SetAnything(BaseModel):
    key: str
    value: Any = None


class SetTags(BaseModel):
    resource: str = Field(pattern=r"^[a-z]+/[a-z0-9-]+$")
    tags: dict[str, str] = Field(description="Names and values")


class SetQuotas(BaseModel):
    quotas: dict[str, Annotated[int, Field(ge=0)]]


class Address(BaseModel):
    street: str
    city: str
    postcode: str = Field(pattern="^[0-9]{4,5}$")
    country: str = Field("DE", min_length=2, max_length=2)


class Customer(BaseModel):
    name: str
    email: str = Field(json_schema_extra={"format": "email"})
    billing: Address
    shipping: Address | None = Field(None, description="Where it goes, if not to the billing address")


class Line(BaseModel):
    sku: str
    quantity: int = Field(ge=1, le=999)
    price: Decimal | None = Field(None, ge=0, decimal_places=2)


class PlaceOrder(BaseModel):
    customer: Customer
    lines: list[Line] = Field(min_length=1)
    coupon: str | None = Field(None, min_length=4, max_length=12)
    express: bool = False


class FetchPage(BaseModel):
    url: HttpUrl
    headers: dict[str, str] | None = None
    method: Literal["GET", "HEAD"] = "GET"
    timeout: timedelta | None = None


class CropImage(BaseModel):
    path: str
    box: tuple[int, int, int, int] = Field(description="Left, top, right, bottom")


class PlotSeries(BaseModel):
    points: list[tuple[float, float]]
    labels: tuple[str, ...] = ()
    axis: tuple[str, str] | None = None


class RollDice(BaseModel):
    sides: Literal[4, 6, 8, 10, 12, 20] = 6
    count: int = Field(1, ge=1, le=20)


class SetVersion(BaseModel):
    version: Literal[1, 2] | Literal["latest"] = "latest"


class SetOptional(BaseModel):
    flag: Literal[True] = True
    mode: Literal["auto", None] = None


class Schedule(BaseModel):
    cron: str | None = None
    every_minutes: int | None = Field(None, gt=0, lt=1440)
    step: int = Field(5, multiple_of=5)


class CreateJob(BaseModel):
    model_config = ConfigDict(title="create_jobArguments")

    command: list[str] = Field(min_length=1)
    environment: dict[str, str] = Field(default_factory=dict)
    schedule: Schedule | None = None
    retries: int = Field(0, ge=0, lt=10)


class KeywordNames(BaseModel):
    type: str
    title: str = Field(description="What stands above it")
    description: str | None = None
    properties: dict[str, Any] = Field(default_factory=dict)
    required: bool = False
    items: list[str] = Field(default_factory=list)
    format: Literal["text", "html"] = "text"
    default: str | None = None


class Aliased(BaseModel):
    from_: str = Field(alias="from")
    content_type: str = Field("text/plain", alias="content-type")
    if_: str | None = Field(None, alias="if")
    not_: bool = Field(False, alias="not")


class Text(BaseModel):
    type: Literal["text"] = "text"
    text: str


class Image(BaseModel):
    type: Literal["image"] = "image"
    data: str = Field(json_schema_extra={"contentEncoding": "base64"})
    mime: str = "image/png"


class Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str | list[Text | Image]


class Complete(BaseModel):
    messages: list[Message]
    temperature: float = Field(1.0, ge=0, le=2)
    stop: str | list[str] | None = None


class Vector(RootModel[list[float]]):
    """Numbers in a row."""


class AddVectors(BaseModel):
    vectors: list[Vector] = Field(max_length=1000)
    ids: list[int | str]


class MoveTo(BaseModel):
    action: Literal["move"] = "move"
    x: int
    y: int


class ClickAt(BaseModel):
    action: Literal["click"] = "click"
    button: Literal["left", "right"] = "left"


class TypeText(BaseModel):
    action: Literal["type"] = "type"
    text: str = Field(max_length=10_000)


class Act(BaseModel):
    step: MoveTo | ClickAt | TypeText


class Expression(BaseModel):
    """A number, a name, or an operation on two of them."""

    operator: Literal["+", "-", "*", "/"]
    left: Expression | float | str
    right: Expression | float | str


class Evaluate(BaseModel):
    expression: Expression
    digits: int = Field(2, ge=0, le=15)


class Node(BaseModel):
    value: int
    next: Node | None = None


class WalkList(BaseModel):
    head: Node


class Step(BaseModel):
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    depends_on: list[int] = Field(default_factory=list)


class RunPlan(BaseModel):
    steps: list[Step]
    on_error: Literal["stop", "skip"] | None = None


class Weekly(BaseModel):
    days: set[Literal[0, 1, 2, 3, 4, 5, 6]] = Field(min_length=1)
    hour: int = Field(ge=0, le=23)


class RemindMe(BaseModel):
    text: str
    when: datetime | Weekly


class Money(BaseModel):
    amount: float = Field(gt=0, description="How much")
    currency: str = Field(pattern="^[A-Z]{3}$", examples=["EUR", "USD"])


class Transfer(BaseModel):
    source: str
    target: str
    money: Money
    note: str | None = Field(None, max_length=140, examples=["rent"])


class Empty(BaseModel):
    pass


class Documented(BaseModel):
    """Every argument has a text.

    Some of it has several lines.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str
    """What it is called.

    Letters and digits only.
    """
    size: int = 1
    """How large it is."""


class Nested4(BaseModel):
    value: int


class Nested3(BaseModel):
    inner: Nested4
    others: list[Nested4] = Field(default_factory=list)


class Nested2(BaseModel):
    inner: Nested3
    by_name: dict[str, Nested3] = Field(default_factory=dict)


class DeepSettings(BaseModel):
    inner: Nested2
    extra: Nested2 | None = None


class Described(StrEnum):
    """How eager the search is."""

    exact = "exact"
    fuzzy = "fuzzy"


class FindSymbol(BaseModel):
    name: str
    matching: Described = Field(Described.exact, description="How names are compared")
    kinds: list[Described] = Field(default_factory=list, description="Other ways to try")


MODELS: tuple[type[BaseModel], ...] = (
    *(GetForecast, SearchDocuments, SendMail, CreateTicket, QueryLogs, ReadFiles, EditFile, PlanRoute, DrawShape),
    *(DrawShapes, MakeTree, ImportThread, FilterRows, RunQuery, RunNamedQuery, SetMetadata, SetAnything, SetTags),
    *(SetQuotas, PlaceOrder, FetchPage, CropImage, PlotSeries, RollDice, SetVersion, SetOptional, CreateJob),
    *(KeywordNames, Aliased, Complete, AddVectors, Act, Evaluate, WalkList, RunPlan, RemindMe, Transfer, Empty),
    *(Documented, DeepSettings, FindSymbol),
)


def add_labels(issue: int, labels: list[str], remove: list[str] | None = None) -> None: ...


def list_files(folder: str = ".", *, hidden: bool = False, depth: int | None = None) -> None: ...


def resize(path: str, size: tuple[int, int] | int, keep: Literal["width", "height", None] = None) -> None: ...


def upsert(table: str, rows: list[dict[str, Any]], keys: list[str]) -> None: ...


def notify(users: list[str] | str, text: Annotated[str, Field(min_length=1)], urgent: bool = False) -> None: ...


FUNCTIONS: tuple[Any, ...] = (add_labels, list_files, resize, upsert, notify)


def rows() -> Iterator[dict[str, Any]]:
    """Give what Pydantic makes of every model, and of functions as FastMCP has them."""
    for model in MODELS:
        yield {"name": model.__name__, "style": "pydantic", "schema": model.model_json_schema(by_alias=True)}
    for function in FUNCTIONS:
        schema = TypeAdapter(function).json_schema()
        yield {"name": function.__name__, "style": "pydantic function", "schema": schema}


def main() -> None:
    """Rewrite the file."""
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows())
    CORPUS.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
