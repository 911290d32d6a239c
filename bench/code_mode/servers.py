"""The servers of the tasks: a shop with an HTTP API and two upstreams, and a project for Workbench."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

CITIES: Final = ("Oslo", "Bergen", "Turku", "Aarhus")
STATES: Final = ("open", "paid", "sent")
CUSTOMERS: Final = [
    {
        "id": n,
        "name": f"Customer {n}",
        "city": CITIES[n % 4],
        "email": f"customer{n}@example.org",
        "since": 2000 + n % 20,
    }
    for n in range(1, 25)
]
PRODUCTS: Final = [
    {"id": n, "name": f"Product {n}", "price": 5 + n * 3, "weight_g": 100 * n, "supplier": f"Supplier {n % 5}"}
    for n in range(1, 21)
]
ORDERS: Final = [
    {
        "id": 100 + n,
        "customer": n % 24 + 1,
        "product": n % 20 + 1,
        "count": n % 7 + 1,
        "status": STATES[n % 3],
        "day": f"2026-0{n % 9 + 1}-{n % 27 + 1:02}",
    }
    for n in range(72)
]
ISSUES: Final = [
    {
        "number": n,
        "title": f"Order {100 + n} is late",
        "state": "open" if n % 3 else "closed",
        "order": 100 + n,
        "labels": ["late", *(["urgent"] if n % 4 == 0 else [])],
        "text": f"The parcel of order {100 + n} has not arrived. " * 6,
    }
    for n in range(1, 31)
]
STOCK: Final = {str(n): {place: (n * 7 + index * 5) % 40 for index, place in enumerate(CITIES)} for n in range(1, 21)}

MANIFEST: Final = """\
edition = 1
server = {{ name = "shop", package = "shop_server" }}
discovery.split_calls = true
categories.shop.summary = "Customers, orders and products of the shop"
categories.tracker.summary = "Issues of customers"
categories.stock.summary = "Pieces in the warehouses"

[apis.shop]
base_url = "http://127.0.0.1:{port}"
summary = "The shop"
category = "shop"

[upstreams.tracker]
command = {tracker}
category = "tracker"

[upstreams.stock]
command = {stock}
category = "stock"

[types.Customer]
fields.id = {{ type = "integer", description = "Number" }}
fields.name = {{ type = "string", description = "Name" }}
fields.city = {{ type = "string", description = "City" }}
fields.email = {{ type = "string", description = "Address" }}
fields.since = {{ type = "integer", description = "Year of the first order" }}

[types.Product]
fields.id = {{ type = "integer", description = "Number" }}
fields.name = {{ type = "string", description = "Name" }}
fields.price = {{ type = "integer", description = "Price of a piece" }}
fields.weight_g = {{ type = "integer", description = "Weight in grams" }}
fields.supplier = {{ type = "string", description = "Supplier" }}

[types.Order]
fields.id = {{ type = "integer", description = "Number" }}
fields.customer = {{ type = "integer", description = "Number of the customer" }}
fields.product = {{ type = "integer", description = "Number of the product" }}
fields.count = {{ type = "integer", description = "Pieces" }}
fields.status = {{ type = "string", description = "State", enum = ["open", "paid", "sent"] }}
fields.day = {{ type = "string", description = "Day of the order" }}

[tools.list_customers]
summary = "List customers, by city"
api = "shop"
http = "GET /customers"
params.city = {{ type = "string", description = "Only customers of this city", required = false }}
returns = "Customer[]"

[tools.get_customer]
summary = "Get one customer"
api = "shop"
http = "GET /customers/{{id}}"
params.id = {{ type = "integer", description = "Number of the customer" }}
returns = "Customer"

[tools.list_orders]
summary = "List orders, by customer and state"
api = "shop"
http = "GET /orders"
params.customer = {{ type = "integer", description = "Only orders of this customer", required = false }}
params.status = {{ type = "string", description = "State", enum = ["open", "paid", "sent"], required = false }}
returns = "Order[]"

[tools.get_order]
summary = "Get one order"
api = "shop"
http = "GET /orders/{{id}}"
params.id = {{ type = "integer", description = "Number of the order" }}
returns = "Order"

[tools.get_product]
summary = "Get one product with its price"
api = "shop"
http = "GET /products/{{id}}"
params.id = {{ type = "integer", description = "Number of the product" }}
returns = "Product"

[tools.add_note]
summary = "Add a note to an order"
api = "shop"
http = "POST /orders/{{id}}/notes"
params.id = {{ type = "integer", description = "Number of the order" }}
params.text = {{ type = "string", description = "Text of the note" }}

[tools.list_issues]
summary = "List issues, by state and label"
upstream = "tracker"
hints = {{ read_only = true }}
input_schema.type = "object"
input_schema.properties.state = {{ type = "string", description = "State", enum = ["open", "closed"] }}
input_schema.properties.label = {{ type = "string", description = "Only issues with this label" }}

[tools.get_issue]
summary = "Get one issue with its text"
upstream = "tracker"
hints = {{ read_only = true }}
input_schema.type = "object"
input_schema.properties.number = {{ type = "integer", description = "Number of the issue" }}
input_schema.required = ["number"]

[tools.comment_issue]
summary = "Comment on an issue"
upstream = "tracker"
hints = {{ destructive = false }}
input_schema.type = "object"
input_schema.properties.number = {{ type = "integer", description = "Number of the issue" }}
input_schema.properties.text = {{ type = "string", description = "Text of the comment" }}
input_schema.required = ["number", "text"]

[tools.stock_of]
summary = "Get the pieces of a product in each warehouse"
upstream = "stock"
hints = {{ read_only = true }}
input_schema.type = "object"
input_schema.properties.product = {{ type = "integer", description = "Number of the product" }}
input_schema.required = ["product"]

[tools.move_stock]
summary = "Move pieces of a product between warehouses"
upstream = "stock"
hints = {{ destructive = false }}
input_schema.type = "object"
input_schema.properties.product = {{ type = "integer", description = "Number of the product" }}
input_schema.properties.source = {{ type = "string", description = "Warehouse with the pieces" }}
input_schema.properties.target = {{ type = "string", description = "Warehouse that gets them" }}
input_schema.properties.count = {{ type = "integer", description = "Pieces" }}
input_schema.required = ["product", "source", "target", "count"]
"""

_UPSTREAM: Final = """\
from mcp.server import MCPServer

server = MCPServer({name!r})
DATA = {data!r}
{tools}
server.run("stdio")
"""
_TRACKER: Final = '''
@server.tool()
def list_issues(state: str = "", label: str = "") -> dict:
    """List issues."""
    found = [i for i in DATA if state in ("", i["state"]) and (not label or label in i["labels"])]
    return {"issues": [{key: value for key, value in issue.items() if key != "text"} for issue in found]}

@server.tool()
def get_issue(number: int) -> dict:
    """Get one issue."""
    return next(issue for issue in DATA if issue["number"] == number)

@server.tool()
def comment_issue(number: int, text: str) -> dict:
    """Comment on an issue."""
    return {"number": number, "comments": 1}
'''
_STOCK: Final = '''
@server.tool()
def stock_of(product: int) -> dict:
    """Get the pieces of a product."""
    return DATA[str(product)]

@server.tool()
def move_stock(product: int, source: str, target: str, count: int) -> dict:
    """Move pieces."""
    return {"product": product, "moved": count}
'''


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.rfile.read(int(self.headers.get("content-length", 0)))
        kind, *rest = parts.path.strip("/").split("/")
        rows: list[dict[str, Any]] = {"customers": CUSTOMERS, "orders": ORDERS, "products": PRODUCTS}[kind]
        found: Any = [row for row in rows if all(str(row.get(name)) == value for name, value in query.items())]
        if rest:
            found = next(row for row in rows if str(row["id"]) == rest[0])
        body = json.dumps({"noted": True} if self.command == "POST" else found).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer  # noqa: N815  names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@contextmanager
def shop(directory: Path) -> Iterator[str]:
    """Generate the server of the shop in `directory`, and serve its API meanwhile; yield its package."""
    api = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    commands = {}
    for name, data, tools in (("tracker", ISSUES, _TRACKER), ("stock", STOCK, _STOCK)):
        path = directory / f"{name}.py"
        path.write_text(_UPSTREAM.format(name=name, data=data, tools=tools), encoding="utf-8")
        commands[name] = json.dumps([sys.executable, str(path)])
    (directory / "manifest").mkdir()
    text = MANIFEST.format(port=api.server_address[1], **commands)
    (directory / "manifest" / "shop.toml").write_text(text, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "toolmason", "generate"], cwd=directory, check=True, stdout=subprocess.DEVNULL
    )
    sys.path.insert(0, str(directory / "generated"))
    try:
        yield "shop_server"
    finally:
        sys.path.remove(str(directory / "generated"))
        api.shutdown()
        api.server_close()


def write_project(directory: Path) -> None:
    """Write a repository with modules, a changelog and package.json files, for the tasks of Workbench."""
    for number in range(1, 13):
        path = directory / "src" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(
            f"def function_{number}_{n}(value: int) -> int:\n    return value + {n}\n\n\n" for n in range(12)
        )
        todo = f"# TODO: describe module {number}\n" if number % 3 == 0 else ""
        path.write_text(f'"""Module {number}."""\n\n{todo}\n\n{body}', encoding="utf-8")
    for number in range(1, 7):
        path = directory / "packages" / f"p{number}" / "package.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {
            "name": f"p{number}",
            "version": f"1.{number}.0",
            "dependencies": {"left": f"^{number}.0", "right": "2.1"},
        }
        path.write_text(json.dumps(data, indent=2), encoding="utf-8")
    (directory / "CHANGELOG.md").write_text("# Changes\n\n" + "".join(f"- change {n}\n" for n in range(80)), "utf-8")
    _git(directory, "init", "--quiet", "--initial-branch=main")
    _git(directory, "config", "user.name", "Somebody")
    _git(directory, "config", "user.email", "somebody@example.org")
    for number in range(1, 13):
        _git(directory, "add", f"src/module_{number}.py")
        _git(directory, "commit", "--quiet", "--message", f"Add module {number}")
    _git(directory, "add", ".")
    _git(directory, "commit", "--quiet", "--message", "Add the rest")


def _git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(directory), *arguments], check=True, capture_output=True)  # noqa: S603, S607
