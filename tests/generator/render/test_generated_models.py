"""Models from datamodel-code-generator, of schemas alone: it reads no other document."""

from __future__ import annotations

from typing import Any

import pytest

from toolmason.render import generated_models as module
from toolmason.render.generated_models import OPTIONS, cache_key, generated_models

SOURCE: dict[str, Any] = {"$defs": {"Note": {"type": "object"}}}


def test_models_of_several_modules_equal_those_of_each_alone() -> None:
    other = {"$defs": {"Other": {"type": "object", "properties": {"text": {"type": "string"}}}}}
    assert generated_models({"b": SOURCE, "a": other}) == generated_models({"b": SOURCE}) | generated_models(
        {"a": other}
    )
    assert generated_models({}) == {}


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://127.0.0.1:1/a.json", "other.json#/A", "#anchor"])
def test_no_reference_to_another_document_reaches_the_model_generator(target: str) -> None:
    source: dict[str, Any] = {
        "$defs": {"Note": {"type": "object", "properties": {"default": {"items": {"$ref": target}}}}}
    }
    with pytest.raises(ValueError, match="leads to another document"):
        module._generate(source)


def test_the_key_of_models_depends_on_the_options_of_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key(SOURCE)
    assert before == cache_key(dict(SOURCE)) != cache_key({"$defs": {}})
    monkeypatch.setitem(OPTIONS, "use_annotated", False)
    assert cache_key(SOURCE) != before


def test_missing_model_class_raises_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="Note"):
        module._sort_imports("class Other:\n    pass\n", SOURCE)
