"""The 30 tasks: the calls that a careful agent makes, and the program for the same answer.

Calls that do not need results of each other are in one step, which is one turn of a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.code_mode.servers import CITIES, CUSTOMERS, ISSUES, ORDERS

Call = tuple[str, dict[str, Any]]
SHOP: Final = "shop"
WORKBENCH: Final = "workbench"


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its server, the searches for its tools, its calls by steps, and its program."""

    title: str
    server: str
    searches: tuple[str, ...]
    steps: tuple[tuple[Call, ...], ...]
    program: str


def _ids(rows: Sequence[dict[str, Any]], key: str = "id", **where: Any) -> list[Any]:
    return [row[key] for row in rows if all(row[name] == value for name, value in where.items())]


def _shop() -> Iterator[Task]:
    for city in CITIES[:3]:
        customers = _ids(CUSTOMERS, city=city)
        yield (
            Task(
                f"Count the open orders of the customers in {city}",
                SHOP,
                ("list customers of a city", "list orders of a customer"),
                (
                    (("list_customers", {"city": city}),),
                    tuple(("list_orders", {"customer": customer, "status": "open"}) for customer in customers),
                ),
                f'customers = (await list_customers(city="{city}"))["items"]\n'
                "orders = await asyncio.gather("
                '*[list_orders(customer=c["id"], status="open") for c in customers])\n'
                'sum(len(o["items"]) for o in orders)',
            )
        )
    for customer in (3, 8, 17):
        orders = [order for order in ORDERS if order["customer"] == customer]
        products = sorted({order["product"] for order in orders})
        yield (
            Task(
                f"What has customer {customer} spent",
                SHOP,
                ("list orders of a customer", "price of a product"),
                (
                    (("list_orders", {"customer": customer}),),
                    tuple(("get_product", {"id": product}) for product in products),
                ),
                f'orders = (await list_orders(customer={customer}))["items"]\n'
                'products = await asyncio.gather(*[get_product(id=o["product"]) for o in orders])\n'
                'sum(o["count"] * p["price"] for o, p in zip(orders, products))',
            )
        )
    for label, state in (("urgent", "open"), ("late", "closed"), ("urgent", "closed")):
        issues = [issue for issue in ISSUES if label in issue["labels"] and issue["state"] == state]
        numbers = [issue["order"] for issue in issues]
        owners = sorted({order["customer"] for order in ORDERS if order["id"] in numbers})
        yield (
            Task(
                f"Addresses of the customers of issues that are {state} and {label}",
                SHOP,
                ("list issues by label", "get an order", "get a customer"),
                (
                    (("list_issues", {"state": state, "label": label}),),
                    tuple(("get_order", {"id": number}) for number in numbers),
                    tuple(("get_customer", {"id": owner}) for owner in owners),
                ),
                f'issues = (await list_issues(state="{state}", label="{label}"))["issues"]\n'
                'orders = await asyncio.gather(*[get_order(id=i["order"]) for i in issues])\n'
                'ids = sorted({o["customer"] for o in orders})\n'
                "customers = await asyncio.gather(*[get_customer(id=c) for c in ids])\n"
                '[c["email"] for c in customers]',
            )
        )
    for status in ("open", "paid", "sent"):
        products = sorted(set(_ids(ORDERS, "product", status=status)))
        yield (
            Task(
                f"Products of {status} orders with fewer than 10 pieces in Oslo",
                SHOP,
                ("list orders by state", "pieces of a product in the warehouses"),
                (
                    (("list_orders", {"status": status}),),
                    tuple(("stock_of", {"product": product}) for product in products),
                ),
                f'ids = sorted({{o["product"] for o in (await list_orders(status="{status}"))["items"]}})\n'
                "stock = await asyncio.gather(*[stock_of(product=i) for i in ids])\n"
                '[i for i, s in zip(ids, stock) if s["Oslo"] < 10]',
            )
        )
    for number in (4, 8, 16):
        order = ORDERS[number]
        yield (
            Task(
                f"Tell what issue {number} is about: the customer, the product, and where it is",
                SHOP,
                ("get an issue", "get an order", "get a customer", "price of a product", "pieces in the warehouses"),
                (
                    (("get_issue", {"number": number}),),
                    (("get_order", {"id": order["id"]}),),
                    (
                        ("get_customer", {"id": order["customer"]}),
                        ("get_product", {"id": order["product"]}),
                        ("stock_of", {"product": order["product"]}),
                    ),
                ),
                f'order = await get_order(id=(await get_issue(number={number}))["order"])\n'
                "c, p, s = await asyncio.gather(\n"
                '    get_customer(id=order["customer"]), get_product(id=order["product"]),\n'
                '    stock_of(product=order["product"]))\n'
                '{"customer": c["name"], "product": p["name"], "stock": s}',
            )
        )
    for product in (2, 7, 12):
        yield (
            Task(
                f"The warehouse with the most pieces of product {product}, and open orders for it",
                SHOP,
                ("pieces of a product in the warehouses", "list orders by state"),
                ((("stock_of", {"product": product}), ("list_orders", {"status": "open"})),),
                f's, o = await asyncio.gather(stock_of(product={product}), list_orders(status="open"))\n'
                "best = max(s, key=lambda place: s[place])\n"
                f'[best, sum(x["count"] for x in o["items"] if x["product"] == {product})]',
            )
        )


def _workbench() -> Iterator[Task]:
    modules = [f"src/module_{number}.py" for number in range(1, 13)]
    packages = [f"packages/p{number}/package.json" for number in range(1, 7)]
    yield from [
        Task(
            "Count the lines of all modules",
            WORKBENCH,
            ("find files by name", "size and lines of a file"),
            (
                (("search_files", {"path": "src", "pattern": "*.py"}),),
                tuple(("get_file_info", {"path": path}) for path in modules),
            ),
            'paths = (await search_files(path="src", pattern="*.py"))["paths"]\n'
            "infos = await asyncio.gather(*[get_file_info(path=p) for p in paths])\n"
            'sum(i["lines"] for i in infos)',
        ),
        Task(
            "The largest file of each folder",
            WORKBENCH,
            ("list a directory with sizes",),
            ((("list_directory_with_sizes", {"path": "src"}), ("list_directory_with_sizes", {"path": "."})),),
            'lists = await asyncio.gather(*[list_directory_with_sizes(path=p) for p in ("src", ".")])\n'
            '[max((e for e in l["entries"] if "size" in e), key=lambda e: e["size"])["name"] for l in lists]',
        ),
    ]
    for name in ("left", "right"):
        yield (
            Task(
                f"Which versions of {name} the packages need",
                WORKBENCH,
                ("find files by name", "query a JSON file"),
                (
                    (("search_files", {"path": "packages", "pattern": "package.json"}),),
                    tuple(
                        ("query_json", {"file_path": path, "jq_expression": f".dependencies.{name}"})
                        for path in packages
                    ),
                ),
                'paths = (await search_files(path="packages", pattern="package.json"))["paths"]\n'
                f'query = ".dependencies.{name}"\n'
                "await asyncio.gather(*[query_json(file_path=p, jq_expression=query) for p in paths])",
            )
        )
    for count in (3, 5, 8):
        yield (
            Task(
                f"The subjects of the last commits of {count} modules",
                WORKBENCH,
                ("history of a file",),
                (
                    tuple(
                        ("git_log", {"paths": [path], "max_count": 1, "format": "oneline"}) for path in modules[:count]
                    ),
                ),
                f'paths = [f"src/module_{{n}}.py" for n in range(1, {count + 1})]\n'
                'logs = await asyncio.gather(*[git_log(paths=[p], max_count=1, format="oneline") for p in paths])\n'
                '[l.strip().split(" ", 1)[1] for l in logs]',
            )
        )
    for word in ("TODO", "function_3_"):
        yield (
            Task(
                f"Which modules contain {word}, and who wrote them last",
                WORKBENCH,
                ("search file contents", "history of a file"),
                (
                    (("grep_content", {"pattern": word, "search_path": "src", "context_lines": 0}),),
                    tuple(
                        ("git_log", {"paths": [path], "max_count": 1})
                        for path in (modules[2::3] if word == "TODO" else modules[2:3])
                    ),
                ),
                f'found = await grep_content(pattern="{word}", search_path="src", context_lines=0)\n'
                'paths = sorted(set(re.findall(r"src/module_\\d+\\.py", found)))\n'
                "logs = await asyncio.gather(*[git_log(paths=[p], max_count=1) for p in paths])\n"
                '[re.search("Author: (.*?) <", l)[1] for l in logs]',
            )
        )
    for number in (2, 5, 9):
        names = [f"packages/p{n}/package.json" for n in range(1, 5)]
        yield (
            Task(
                f"The functions of module {number}, and the versions of four packages",
                WORKBENCH,
                ("search file contents", "query a JSON file"),
                (
                    (
                        ("grep_content", {"pattern": "^def ", "search_path": f"src/module_{number}.py"}),
                        *(("query_json", {"file_path": path, "jq_expression": ".version"}) for path in names),
                    ),
                ),
                f'text = await grep_content(pattern="^def ", search_path="src/module_{number}.py")\n'
                f"paths = {names!r}\n"
                'versions = await asyncio.gather(*[query_json(file_path=p, jq_expression=".version") for p in paths])\n'
                '[len(re.findall(r"def (\\w+)", text)), versions]',
            )
        )


TASKS: Final = (*_shop(), *_workbench())
