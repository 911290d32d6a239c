"""Names of parameters and tools that `toolmason import openapi` chooses: they say what they mean, and stay."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toolmason_runtime.apis.request import build_request
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.shared.specs.request import HttpTool

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.design.parameter_names import MAX_LENGTH, parameter_name
from toolmason.kinds.http.implementation import request_of
from toolmason.manifest.document import Document, load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

DATE = {"type": "string", "format": "date-time"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "openapi", *map(str, arguments)])


def document(paths: dict[str, Any], **other: Any) -> dict[str, Any]:
    info = {"title": "Shop", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "servers": [{"url": "https://shop.example"}], "paths": paths, **other}


def query(*names: str, schema: dict[str, Any] | None = None, place: str = "query") -> list[dict[str, Any]]:
    return [{"name": name, "in": place, "schema": schema or TEXT} for name in names]


@pytest.fixture
def imported(tmp_path: Path) -> Any:
    """A function that imports paths and returns the tables of the manifest."""

    def import_(paths: dict[str, Any], *options: str, **other: Any) -> dict[str, Any]:
        source = tmp_path / "document.json"
        source.write_text(json.dumps(document(paths, **other)), encoding="utf-8")
        result = run(source, "-o", tmp_path / "shop.toml", *options)
        assert result.exit_code == 0, result.output
        return tomllib.loads((tmp_path / "shop.toml").read_text(encoding="utf-8"))

    return import_


@pytest.mark.parametrize(
    ("wire", "schema", "name"),
    [
        ("DateSent<", DATE, "date_sent_before"),
        ("DateSent>", DATE, "date_sent_after"),
        ("DateSent>=", DATE, "date_sent_since"),
        ("StartTime<=", TEXT, "start_time_until"),
        ("created_at >", TEXT, "created_at_after"),
        ("price<", NUMBER, "price_less_than"),
        ("price≥", NUMBER, "price_at_least"),
        ("price[>=]", NUMBER, "price_at_least"),
        ("total=>", NUMBER, "total_at_least"),
        ("status!", TEXT, "status_not"),
        ("status!=", TEXT, "status_not"),
        ("!active", TEXT, "not_active"),
        ("name~", TEXT, "name_like"),
        ("name^=", TEXT, "name_starts_with"),
        ("filter[name][eq]", TEXT, "filter_name_eq"),
        ("filter[voice.connection_name][eq]", TEXT, "filter_voice_connection_name_eq"),
        ("filter[lastName]", TEXT, "filter_last_name"),
        ("created[gte]", DATE, "created_gte"),
        ("searchCriteria[filterGroups][0][field]", TEXT, "search_criteria_filter_groups_0_field"),
        ("and[usage][]", TEXT, "and_usage"),
        ("ids[]", TEXT, "ids"),
        ("price__lt", NUMBER, "price_lt"),
        ("sort-by", TEXT, "sort_by"),
        ("user.name", TEXT, "user_name"),
        ("jcr:content/jcr:title", TEXT, "jcr_content_jcr_title"),
        ("path@TypeHint", TEXT, "path_type_hint"),
        ("$filter", TEXT, "filter"),
        ("@type", TEXT, "type"),
        ("@odata.type", TEXT, "odata_type"),
        ("province ", TEXT, "province"),
        ("Größe (MB)", TEXT, "grosse_mb"),
        ("2fa", TEXT, "query_value_2fa"),
        ("名前", TEXT, "query_value"),
        ("pageSize", TEXT, "pageSize"),
        ("DateSent", DATE, "DateSent"),
        ("__typename", TEXT, "__typename"),
        ("_limit", TEXT, "_limit"),
        ("a" * 70, TEXT, "a" * 60),
        ("filter[" + "word_" * 20 + "end]", TEXT, "filter_" + "_".join(["word"] * 10)),
    ],
)
def test_the_name_of_a_parameter_consists_of_words(wire: str, schema: dict[str, Any], name: str) -> None:
    assert parameter_name(wire, "query", schema) == name
    assert len(name) <= MAX_LENGTH


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("X-Request-Id", "request_id"),
        ("x-api-version", "api_version"),
        ("If-None-Match", "if_none_match"),
        ("Notion-Version", "notion_version"),
        ("etag", "etag"),
        ("X-1", "x_1"),
    ],
)
def test_the_name_of_a_header_is_without_the_letter_of_unregistered_ones(wire: str, name: str) -> None:
    assert parameter_name(wire, "header", TEXT) == name


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        (
            query("DateSent", "DateSent<", "DateSent>", schema=DATE),
            ["date_sent", "date_sent_before", "date_sent_after"],
        ),
        (query("skip", "$skip"), ["skip", "skip_dollar"]),
        (query("type", "@type"), ["type", "type_at_sign"]),
        (query("ids", "ids[]"), ["ids", "ids_list"]),
        (query("sort-by", "sort.by", "sort by"), ["sort_by", "sort_by_2", "sort_by_3"]),
        (query("名前", "住所"), ["query_value", "query_value_2"]),
        # A name of the API that stays as it is belongs to its own parameter.
        (query("page[size]", "page_size"), ["page_size_2", "page_size"]),
        (query("ids[]", "ids"), ["ids_list", "ids"]),
        (
            query("sort-by", "filter.name", "sort_by", "filter_name"),
            ["sort_by_2", "filter_name_2", "sort_by", "filter_name"],
        ),
        ([*query("X-Trace", place="header"), *query("trace")], ["trace_in_header", "trace"]),
        ([*query("user.id"), *query("user_id", place="header")], ["user_id_in_query", "user_id"]),
        ([*query("id"), *query("id", place="header")], ["id", "id_in_header"]),
        ([*query("request-id"), *query("X-Request-Id", place="header")], ["request_id", "request_id_in_header"]),
    ],
)
def test_two_parameters_have_names_that_tell_them_apart(
    imported: Any, parameters: list[dict[str, Any]], names: list[str]
) -> None:
    params = imported({"/items": {"get": {"parameters": parameters}}})["tools"]["list_items"]["params"]

    assert list(params) == names
    wires = {parameter["name"] for parameter in parameters}
    assert wires <= {name for key, entry in params.items() for name in (key, *entry.get("aliases", ()))}


def test_a_name_that_loses_letters_is_in_the_description(imported: Any) -> None:
    parameters = [{"name": "名前", "in": "query", "description": "Name of a person", "schema": TEXT}, *query("住所")]
    params = imported({"/items": {"get": {"parameters": parameters}}})["tools"]["list_items"]["params"]

    assert [entry["description"] for entry in params.values()] == ["`名前`. Name of a person", "`住所`"]


def _tool(manifest: Path, name: str) -> tuple[HttpTool, ArgumentValidator]:
    diagnostics = Diagnostics()
    loaded: Document | None = load(manifest, root=manifest.parent, diagnostics=diagnostics)
    assert loaded
    tables = validate(loaded, diagnostics=diagnostics)
    server = resolve(tables, loaded, root=manifest.parent, diagnostics=diagnostics) if tables else None
    assert tables
    assert server, [str(diagnostic) for diagnostic in diagnostics]
    tool = next(tool for tool in server.tools if tool.name == name)
    request = request_of(tool)
    assert request
    schema = {"type": "object", "properties": {key: {} for key in tables.tools[name].params}}
    entry: Any = {"tool": {"name": name, "inputSchema": schema}, "argument_aliases": tool.argument_aliases, "api": ""}
    return request.tool, ArgumentValidator(entry | {"examples": []}, None)


@pytest.mark.parametrize("by", ["DateSent<", "date_sent_before"])
def test_a_call_with_the_name_of_the_api_has_the_filter(imported: Any, tmp_path: Path, by: str) -> None:
    imported({"/messages": {"get": {"parameters": query("DateSent<", "DateSent>", "DateSent", schema=DATE)}}})
    tool, validator = _tool(tmp_path / "shop.toml", "list_messages")

    arguments = validator.validate({by: "2024-01-01"})

    request = build_request(tool, arguments.value, tool.api.base_url)
    assert request.url == "https://shop.example/messages?DateSent%3C=2024-01-01"


def test_parameters_in_several_places_are_sent_as_the_document_specifies(imported: Any, tmp_path: Path) -> None:
    body = {
        "content": {"application/json": {"schema": {"type": "object", "properties": {"item-id": TEXT, "a b": TEXT}}}}
    }
    parameters = [{**query("item-id", place="path")[0], "required": True}, *query("X-Trace", place="header")]
    imported({"/items/{item-id}": {"put": {"operationId": "putItem", "parameters": parameters, "requestBody": body}}})
    tool, _ = _tool(tmp_path / "shop.toml", "put_item")

    values = {"item_id": "1", "trace": "t", "item_id_in_body": "2", "a_b": "x"}
    request = build_request(tool, values, tool.api.base_url)

    assert (request.url, dict(request.headers)["x-trace"]) == ("https://shop.example/items/1", "t")
    assert json.loads(request.content or b"") == {"item-id": "2", "a b": "x"}


def test_names_of_parameters_stay_when_the_document_grows(imported: Any, tmp_path: Path) -> None:
    before = imported({"/items": {"get": {"parameters": query("sort-by", "x.y", "DateSent")}}})
    manifest = tmp_path / "shop.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("params.x_y", "params.mine"), encoding="utf-8")

    after = imported({"/items": {"get": {"parameters": query("sort.by", "sort-by", "x.y", "DateSent", "DateSent<")}}})

    assert list(before["tools"]["list_items"]["params"]) == ["sort_by", "x_y", "DateSent"]
    params = after["tools"]["list_items"]["params"]
    assert {entry.get("query", name): name for name, entry in params.items()} == {
        "sort-by": "sort_by",
        "x.y": "mine",
        "DateSent": "DateSent",
        "sort.by": "sort_by_2",
        "DateSent<": "date_sent_before",
    }


@pytest.mark.parametrize(
    ("request_line", "operation_id", "tag", "name"),
    [
        ("GET /orders/{id}", "orders/get", "orders", "get_order"),
        ("GET /orders", "OrdersController_findAll", "orders", "find_all_orders"),
        ("GET /orders", "OrderController_findAll", "orders", "find_all_orders"),
        ("GET /orders/{id}", "OrderController_findOne", "orders", "get_order"),
        ("PATCH /orders/{id}", "OrdersController_update", "orders", "update_order"),
        ("GET /categories", "CategoryController_getAll", "", "get_all_categories"),
        ("GET /v1/order-items", "OrderItemController_findMany_v1", "", "find_many_order_items"),
        ("GET /users/{userId}/orders", "OrderController_findAllByUser", "", "find_all_orders_by_user"),
        ("GET /orders/{id}/lineItems", "OrderController_findAllLineItems", "", "find_all_order_line_items"),
        ("GET /orders", "OrderController_findAllPaginated", "", "find_all_orders_paginated"),
        ("GET /parcels/{id}/label", "ParcelsController_getLabel", "", "get_parcel_label"),
        ("PUT /orders/{id}/pause", "pauseAllLinesOrder", "", "pause_all_lines_order"),
        ("GET /orders", "OrderController_index", "", "list_orders"),
        ("GET /orders", "orderControllerFind", "", "find_orders"),
        ("GET /orders/count", "OrderController.count", "", "count_orders"),
        ("POST /documents/batch", "DocumentController_batchDelete", "", "batch_delete_documents"),
        ("DELETE /orders", "OrderController_removeAll", "", "remove_all_orders"),
        ("GET /", "AppController_getHello", "", "get_hello"),
        ("GET /health", "HealthController_check", "", "check_health"),
        ("POST /auth/login", "AuthController_login", "auth", "login_auth"),
        ("GET /orders", "findAllOrder", "", "find_all_orders"),
        (
            "GET /replicationcontrollers/{name}/scale",
            "readReplicationControllerScale",
            "",
            "read_replication_controller_scale",
        ),
        ("GET /issues/{id}/comments", "issues/list-comments", "issues", "list_issue_comments"),
        ("GET /repos", "repos/list-for-org", "repos", "list_repos_for_org"),
        ("PATCH /teams/{id}/status", "teamsUpdateMembershipStatus", "teams", "update_team_membership_status"),
        ("GET /load_balancers", "loadBalancers_list", "Load Balancers", "list_load_balancers"),
        ("POST /v2/{name}:cancel", "projects.jobs.cancel", "projects", "cancel_project_jobs"),
        ("GET /search/issues", "search/issues-and-pulls", "search", "search_issues_and_pulls"),
        ("POST /orders", "order_create", "orders", "create_order"),
        ("GET /products", "productsUsingGET_1", "products", "get_products"),
        ("GET /items/{item_id}", "read_item_items__item_id__get", "items", "read_item"),
        ("POST /v1/orders/{order}/cancel", "PostOrdersOrderCancel", "", "cancel_order"),
        ("GET /v1/notes", "GetV1Notes", "", "list_notes"),
        ("GET /divisions/{id}", "Divisions_GetDivisionById", "Divisions", "get_division_by_id"),
        ("GET /search", "search_search", "search", "search_shop"),
        ("GET /search/books", "search", "search", "search_books"),
        ("POST /call", "call", "", "call_shop"),
        ("GET /books/search", "", "", "search_books"),
        ("GET /v1/users/{id}", "", "", "get_user"),
        ("GET /individuals/{partyId}/business-names/{productId}", "", "", "get_individual_business_name"),
        ("GET /users", "", "", "list_users"),
        ("GET /users/me", "", "", "get_user_me"),
        ("POST /companies", "", "", "create_company"),
        ("PUT /companies/{id}/addresses/{no}", "", "", "replace_company_address"),
        ("PATCH /boxes/{id}", "", "", "update_box"),
        ("DELETE /api/v2/statuses/{id}", "", "", "delete_status"),
        ("POST /orders/{id}/confirmDelivery", "", "", "confirm_order_delivery"),
        ("POST /transferInstruments", "", "", "create_transfer_instrument"),
        ("GET /map/copyrights.{format}", "", "", "list_map_copyrights"),
        ("GET /订单/{id}", "获取订单", "订单", "get_item"),
        ("GET /orders/{id}", "获取订单", "订单", "get_order"),
        ("POST /orders", "создатьЗаказ", "заказы", "create_order"),
        ("GET /stores", "店舗一覧", "店舗", "list_stores"),
        ("DELETE /pets/{id}", "حذف", "حيوانات", "delete_pet"),
        ("GET /orders", "7f3a9c01e5", "", "list_orders"),
        ("GET /orders", "get_aB3dE9fGh2_orders", "", "get_orders"),
        ("GET /orders/{id}", "0fe0a0dd-0d0f-4c1e-9f00-aa11bb22cc33", "", "get_order"),
        ("GET /größen", "größenListe", "", "get_grossen_liste"),
        (
            "DELETE /pods",
            "deleteCoreV1CollectionNamespacedReplicationController",
            "core_v1",
            "delete_collection_replication_controller",
        ),
        (
            "PUT /a",
            "actions/set-artifact-and-log-retention-settings-organization",
            "actions",
            "set_log_retention_settings_org",
        ),
        ("GET /", "", "", "call_shop"),
        ("GET /订单", "", "", "list_items"),
        ("POST /الطلبات", "إنشاء", "", "create_item"),
        ("GET /заказы/{id}/строки", "", "", "list_items"),
        ("DELETE /παραγγελίες/{id}", "", "", "delete_item"),
        ("PUT /주문", "", "", "replace_item"),
    ],
)
def test_a_tool_is_named_by_verb_and_object(
    imported: Any, request_line: str, operation_id: str, tag: str, name: str
) -> None:
    method, path = request_line.split()
    operation = {"operationId": operation_id, "tags": [tag] if tag else []}

    names = list(imported({path: {method.lower(): operation}})["tools"])

    assert names == [name]
    assert len(name) <= 40


@pytest.mark.parametrize(
    ("request_line", "operation_id", "summary", "name"),
    [
        ("GET /getweather", "getweather", "Gets current weather of a city", "get_weather"),
        ("GET /pipeline/catalog", "getallpricetables", "Get all price tables and rules", "get_all_price_tables"),
        ("DELETE /systems/{id}", "deletesystem", "Delete a system by its id", "delete_system"),
        ("POST /sessions", "createnewsession", "Create new session", "create_new_session"),
        (
            "GET /archive/{code}",
            "getarchivedbycouponcode",
            "Get archived by coupon code",
            "get_archived_by_coupon_code",
        ),
        ("GET /pricing/tables", "Listpricetables", "List price tables", "list_price_tables"),
        ("GET /listings", "listings", "Get listings", "get_listings"),
        ("GET /addresses", "addresses", "Address book", "get_addresses"),
        ("GET /unknown", "getwhatsoever", "Return it", "getwhatsoever"),
        # A word that is too long is not cut: the path says more.
        ("POST /prices/{id}/fixed", "createorupdatefixedpricesforthetradepolicyofashop", "", "create_price_fixed"),
        ("GET /ships/{id}", "donaudampfschifffahrtsgesellschaftskapitaen", "", "get_ship"),
        # A verb alone does not say what it is about.
        ("GET /list/list", "listListList", "", "list_shop"),
        ("GET /orders", "get", "", "get_orders"),
    ],
)
def test_a_name_in_one_piece_has_the_words_of_its_document(
    imported: Any, request_line: str, operation_id: str, summary: str, name: str
) -> None:
    method, path = request_line.split()
    operation = {"operationId": operation_id, "summary": summary}

    assert list(imported({path: {method.lower(): operation}})["tools"]) == [name]


def test_names_stay_when_the_document_grows(imported: Any) -> None:
    books = {"get": {"operationId": "list", "tags": ["books"]}}
    before = imported({"/v2/books": books, "/books/{id}": {"get": {}}})

    after = imported({"/v1/books": books, "/books": books, "/v2/books": books, "/books/{id}": {"get": {}}})

    requests = {tool["http"]: name for name, tool in after["tools"].items()}
    assert {tool["http"]: name for name, tool in before["tools"].items()}.items() <= requests.items()
    assert requests["GET /v2/books"] == "list_books"
    assert len(set(requests.values())) == 4


def test_a_name_in_another_script_is_the_title(imported: Any) -> None:
    pets = {"get": {"operationId": "获取宠物", "summary": "查询宠物", "tags": ["宠物"]}, "post": {"tags": ["宠物"]}}
    data = imported({"/pets": pets, "/orders": {"get": {"summary": "注文一覧"}, "put": {"operationId": "setOrders"}}})

    assert {name: tool.get("title") for name, tool in data["tools"].items()} == {
        "list_pets": "获取宠物",
        "create_pet": "宠物",
        "list_orders": "注文一覧",
        "set_orders": None,
    }
    assert {name: table["summary"] for name, table in data["categories"].items()} == {
        "pets": "宠物",
        "orders": "Orders",
    }


def test_names_are_free_and_short_beside_a_long_name_of_the_server(imported: Any) -> None:
    server = "a-shop-of-many-words-for-it"
    operation = {"operationId": "readNamespacedAuthorizationPolicy"}

    data = imported({f"/v{number}/policies": {"get": operation} for number in range(5)}, "--name", server)

    assert len(data["tools"]) == 5
    assert all(len(f"mcp__{server}__{name}") <= 64 for name in data["tools"])
