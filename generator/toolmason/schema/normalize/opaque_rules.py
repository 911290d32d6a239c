"""Rules that the normal form does not represent; they are emitted verbatim or described in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import VALUE_CHECKS
from toolmason.schema.normal_form import OpaqueRule
from toolmason.schema.normalize.collector import FindingCollector, quote
from toolmason.schema.normalize.context import Keywords
from toolmason.schema.normalize.predicates import must_be
from toolmason.schema.normalize.rule_text import dependency_text, unstated_keywords
from toolmason.schema.references import References
from toolmason.schema.wording import join_words, range_text

_CONTENT_TEXTS: Final = {"contentEncoding": "Encoded as {}", "contentMediaType": "Media type: {}"}


def string_rules(keywords: Keywords, collector: FindingCollector) -> tuple[OpaqueRule, ...]:
    """Return the rules of `contentEncoding` and `contentMediaType`."""
    return tuple(
        OpaqueRule({keyword: keywords[keyword]}, text.format(keywords[keyword]), collector.pointer_to(keyword))
        for keyword, text in _CONTENT_TEXTS.items()
        if keyword in keywords
    )


def object_rules(keywords: Keywords, collector: FindingCollector, references: References) -> Iterator[OpaqueRule]:
    """Yield the rules of dependencies and `propertyNames`."""
    for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
        for name, value in keywords.get(keyword, {}).items():
            pointer = collector.pointer_to(keyword, name)
            if (isinstance(value, list) and VALUE_CHECKS["required"](value)) or isinstance(value, dict | bool):
                if value not in ([], {}, True):
                    yield _dependency(name, value, pointer, references)
            else:
                message = f"invalid value `{quote(value)}` in `{keyword}` is omitted"
                collector.add_at(pointer, "malformed", Severity.LOSSY, message)
    names = keywords.get("propertyNames")
    if isinstance(names, dict) and names and names != {"type": "string"}:
        plain = references.dereference_for_text(names)
        is_text = isinstance(plain, dict) and plain.get("type") == "string" and len(plain) > 1
        rules = {keyword: value for keyword, value in plain.items() if keyword != "type"} if is_text else plain
        text = must_be("Names", "must", rules)
        pointer = collector.pointer_to("propertyNames")
        yield OpaqueRule({"propertyNames": names}, text, pointer, unstated_keywords(rules, text))


def _dependency(name: str, value: Any, pointer: str, references: References) -> OpaqueRule:
    if isinstance(value, list):
        text = f"With `{name}` give also {join_words([f'`{needed}`' for needed in value], 'and')}"
        return OpaqueRule({"dependentRequired": {name: value}}, text, pointer)
    plain = references.dereference_for_text(value)
    text = dependency_text(name, plain)
    return OpaqueRule({"dependentSchemas": {name: value}}, text, pointer, unstated_keywords(plain, text))


def array_rules(keywords: Keywords, collector: FindingCollector, references: References) -> Iterator[OpaqueRule]:
    """Yield the rule of `contains`."""
    if "contains" not in keywords or keywords["contains"] in (True, {}):
        return
    low, high = keywords.get("minContains", 1), keywords.get("maxContains")
    if not low and high is None:
        collector.note("contains", "`contains` has no effect if `minContains` is 0")
        return
    rule = {keyword: keywords[keyword] for keyword in ("contains", "minContains", "maxContains") if keyword in keywords}
    plain = references.dereference_for_text(rule["contains"])
    text = must_be(range_text(low or None, high, "items"), "must" if low else "may", plain)
    yield OpaqueRule(rule, text, collector.pointer_to("contains"), unstated_keywords(plain, text))
