"""`python -m bench.code_mode.fastmcp_shop`: the tasks of the shop with the code mode of FastMCP, for comparison.

It needs the dependency group `bench`. The tools have the names, parameters, descriptions and results of the shop.
"""

# ruff: noqa: D103, T201  descriptions are arguments, and a command prints

from __future__ import annotations

import ast
import asyncio
import json
from statistics import median
from time import perf_counter
from typing import Annotated, Any, Literal

from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
from pydantic import Field
from toolmason_runtime.shared.tokens import estimate_tokens

from bench.code_mode.servers import CUSTOMERS, ISSUES, ORDERS, PRODUCTS, STOCK
from bench.code_mode.tasks import SHOP, TASKS, Task

server = FastMCP("shop", transforms=[CodeMode()])


@server.tool(description="List customers, by city")
def list_customers(city: Annotated[str, Field(description="Only customers of this city")] = "") -> dict[str, Any]:
    return {"items": [each for each in CUSTOMERS if city in {"", each["city"]}]}


@server.tool(description="Get one customer")
def get_customer(id: Annotated[int, Field(description="Number of the customer")]) -> dict[str, Any]:  # noqa: A002  its name
    return next(each for each in CUSTOMERS if each["id"] == id)


@server.tool(description="List orders, by customer and state")
def list_orders(
    customer: Annotated[int | None, Field(description="Only orders of this customer")] = None,
    status: Annotated[Literal["open", "paid", "sent"] | None, Field(description="State")] = None,
) -> dict[str, Any]:
    found = (each for each in ORDERS if customer in {None, each["customer"]} and status in {None, each["status"]})
    return {"items": list(found)}


@server.tool(description="Get one order")
def get_order(id: Annotated[int, Field(description="Number of the order")]) -> dict[str, Any]:  # noqa: A002  its name
    return next(each for each in ORDERS if each["id"] == id)


@server.tool(description="Get one product with its price")
def get_product(id: Annotated[int, Field(description="Number of the product")]) -> dict[str, Any]:  # noqa: A002  its name
    return next(each for each in PRODUCTS if each["id"] == id)


@server.tool(description="Add a note to an order")
def add_note(
    id: Annotated[int, Field(description="Number of the order")],  # noqa: A002  its name
    text: Annotated[str, Field(description="Text of the note")],
) -> dict[str, Any]:
    return {"noted": id, "chars": len(text)}


@server.tool(description="List issues, by state and label")
def list_issues(
    state: Annotated[Literal["open", "closed"] | None, Field(description="State")] = None,
    label: Annotated[str, Field(description="Only issues with this label")] = "",
) -> dict[str, Any]:
    found = (each for each in ISSUES if state in {None, each["state"]} and (not label or label in each["labels"]))
    return {"issues": [{key: value for key, value in each.items() if key != "text"} for each in found]}


@server.tool(description="Get one issue with its text")
def get_issue(number: Annotated[int, Field(description="Number of the issue")]) -> dict[str, Any]:
    return next(each for each in ISSUES if each["number"] == number)


@server.tool(description="Comment on an issue")
def comment_issue(
    number: Annotated[int, Field(description="Number of the issue")],
    text: Annotated[str, Field(description="Text of the comment")],
) -> dict[str, Any]:
    return {"number": number, "chars": len(text)}


@server.tool(description="Get the pieces of a product in each warehouse")
def stock_of(product: Annotated[int, Field(description="Number of the product")]) -> dict[str, Any]:
    return STOCK[str(product)]


@server.tool(description="Move pieces of a product between warehouses")
def move_stock(
    product: Annotated[int, Field(description="Number of the product")],
    source: Annotated[str, Field(description="Warehouse with the pieces")],
    target: Annotated[str, Field(description="Warehouse that gets them")],
    count: Annotated[int, Field(description="Pieces")],
) -> dict[str, Any]:
    return {"product": product, "from": source, "to": target, "moved": count}


class _Calls(ast.NodeTransformer):
    """Writes `get_order(id=1)` as `call_tool("get_order", {"id": 1})`."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in self._tools):
            return node
        keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
        arguments = ast.Dict(keys, [keyword.value for keyword in node.keywords])
        return ast.Call(ast.Name("call_tool"), [ast.Constant(node.func.id), arguments], [])


def translated(task: Task, tools: frozenset[str]) -> str:
    """Return the program of a task for FastMCP, which returns its last value."""
    tree = _Calls(tools).visit(ast.parse(f"import asyncio\n{task.program}"))
    tree.body[-1] = ast.Return(tree.body[-1].value)
    return ast.unparse(ast.fix_missing_locations(tree))


async def perform(task: Task, client: Client[Any], tools: frozenset[str], listed: int) -> tuple[int, ...]:
    """Return turns, tokens, tokens with history and milliseconds of a task."""
    names = sorted({name for step in task.steps for name, _ in step})
    turns = (
        [("search", {"query": query}) for query in task.searches],
        [("get_schema", {"tools": names})],
        [("execute", {"code": translated(task, tools)})],
    )
    tokens, history, seconds = listed, 0, 0.0
    for calls in turns:
        for name, arguments in calls:
            started = perf_counter()
            result = await client.call_tool(name, arguments)
            seconds += perf_counter() - started
            text = "\n".join(getattr(block, "text", "") for block in result.content)
            tokens += estimate_tokens(json.dumps({"name": name, "arguments": arguments})) + estimate_tokens(text)
        history += tokens
    return len(turns), tokens, history, round(seconds * 1000)


async def main() -> None:
    """Perform the tasks and print the medians."""
    async with Client(server) as client:
        shown = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            for tool in await client.list_tools()
        ]
        listed = estimate_tokens(json.dumps(shown))
        tools = frozenset(name for task in TASKS if task.server == SHOP for step in task.steps for name, _ in step)
        tasks = [task for task in TASKS if task.server == SHOP]
        measured = [await perform(task, client, tools, listed) for task in tasks]
    names = ("turns", "tokens", "tokens with history", "ms")
    print(f"{len(tasks)} tasks of the shop")
    print(
        ", ".join(
            f"{name} {median(values):,g}" for name, values in zip(names, zip(*measured, strict=True), strict=True)
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
