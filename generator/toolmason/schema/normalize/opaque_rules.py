"""Rules that the normal form does not represent; they are emitted verbatim or described in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import VALUE_CHECKS
from toolmason.schema.normal_form import OpaqueRule
from toolmason.schema.normalize.collector import FindingCollector, quote
from toolmason.schema.normalize.context import Keywords
from toolmason.schema.references import References
from toolmason.schema.wording import join_words, quote_schema, range_text

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
        pattern = plain.get("pattern") if isinstance(plain, dict) and plain.keys() <= {"type", "pattern"} else None
        text = f"Names must match `{pattern}`" if pattern else f"Names must fit {quote_schema(plain)}"
        yield OpaqueRule({"propertyNames": names}, text, collector.pointer_to("propertyNames"))


def _dependency(name: str, value: Any, pointer: str, references: References) -> OpaqueRule:
    if isinstance(value, list):
        text = f"With `{name}` give also {join_words([f'`{needed}`' for needed in value], 'and')}"
        return OpaqueRule({"dependentRequired": {name: value}}, text, pointer)
    if value is False:
        text = f"Do not give `{name}`"
    else:
        text = f"With `{name}` the whole must fit {quote_schema(references.dereference_for_text(value))}"
    return OpaqueRule({"dependentSchemas": {name: value}}, text, pointer)


def array_rules(keywords: Keywords, collector: FindingCollector, references: References) -> Iterator[OpaqueRule]:
    """Yield the rule of `contains`."""
    if "contains" not in keywords or keywords["contains"] in (True, {}):
        return
    low, high = keywords.get("minContains", 1), keywords.get("maxContains")
    if not low and high is None:
        collector.note("contains", "`contains` has no effect if `minContains` is 0")
        return
    rule = {keyword: keywords[keyword] for keyword in ("contains", "minContains", "maxContains") if keyword in keywords}
    count, verb = range_text(low or None, high, "items"), "must" if low else "may"
    text = f"{count} {verb} fit {quote_schema(references.dereference_for_text(rule['contains']))}"
    yield OpaqueRule(rule, text, collector.pointer_to("contains"))


def not_text(schema: Any) -> str:
    """Return the sentence for `not`."""
    if isinstance(schema, dict) and schema.keys() == {"enum"} and isinstance(schema["enum"], list):
        return f"Must not be one of {', '.join(map(quote, schema['enum']))}"
    if isinstance(schema, dict) and schema.keys() == {"const"}:
        return f"Must not be {quote(schema['const'])}"
    is_required = isinstance(schema, dict) and schema.keys() == {"required"}
    if is_required and VALUE_CHECKS["required"](schema["required"]):
        return f"Do not give {join_words([f'`{name}`' for name in schema['required']], 'and')} together"
    return f"Must not fit {quote_schema(schema)}"


def condition_text(rule: Mapping[str, Any], references: References) -> str:
    """Return the sentence for `if`, `then` and `else`."""
    quoted = {keyword: quote_schema(references.dereference_for_text(schema)) for keyword, schema in rule.items()}
    text = f"If it fits {quoted['if']}"
    text += f", it must fit {quoted['then']}" if "then" in quoted else ", nothing more is asked"
    return text + (f"; otherwise {quoted['else']}" if "else" in quoted else "")
