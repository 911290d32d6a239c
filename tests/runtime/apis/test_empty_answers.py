"""Answers without content, such as 204, of tools with a type of their result."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from toolmason_runtime.apis.result import structured
from toolmason_runtime.apis.settings import ApiSettings
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import Api, HttpTool


class Item(BaseModel):
    name: str | None = None


class Items(BaseModel):
    items: list[Item]
    has_more: bool


class Named(BaseModel):
    name: str


SETTINGS = ApiSettings(
    name="shop", base_url="http://shop", headers={}, credentials={}, query=None, allow_hosts=(), secrets=()
)


def result(model: type[BaseModel], *values: Any, returns_list: bool = False) -> dict[str, Any]:
    api = Api(name="shop", base_url="http://shop")
    tool = HttpTool(name="get_item", api=api, method="GET", path="/item", returns_list=returns_list)
    return structured(tool, values, model, SETTINGS, has_more=False).model_dump(exclude_unset=True)


def test_an_empty_answer_is_an_object_without_fields_or_an_empty_list() -> None:
    assert result(Item, None) == {}
    assert result(Items, None, returns_list=True) == {"items": [], "has_more": False}
    assert result(Item, {"name": "Lamp"}) == {"name": "Lamp"}


def test_an_empty_answer_lacks_required_fields() -> None:
    with pytest.raises(ToolError, match="name"):
        result(Named, None)
