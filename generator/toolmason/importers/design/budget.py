"""Keep the parameters of a tool below a number of tokens, which a model reads before each call.

Tools that have more get shorter descriptions, then shorter enumerations, `object` in place of types inside of optional
parameters, fewer optional parameters, and last `object` inside of required ones.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.importers.names import shorten
from toolmason.manifest.checks import REQUEST_LOCATIONS
from toolmason.model.type_expression import names, parse
from toolmason.schema import advertise

DEFAULT: Final = 600
"""Maximum tokens of the parameters of a tool."""
_LENGTHS: Final = (200, 120, 70)
"""Maximum characters of a description of a parameter, from generous to short."""
_MAX_SENTENCE: Final = 160
_MAX_DESCRIPTION: Final = 400
"""Maximum characters of the description of a tool that exceeds the budget."""
_MAX_CHOICES: Final = 12
"""Maximum values of an enumeration in a tool that exceeds the budget."""
_SHOWN_CHOICES: Final = 4
_SHOWN_MEMBERS: Final = 12
_NOT_SENT: Final = frozenset({"aliases", *REQUEST_LOCATIONS, "style", "file", "required"})
_CONSTRAINTS: Final = frozenset(
    {"pattern", "min_length", "max_length", "minimum", "maximum", "min_items", "max_items", "unique_items"}
)
_SHARED: Final = 0.6
"""Share of the operations, if there are at least ten, from which an optional parameter counts as shared by all."""
_USUAL: Final = frozenset(
    {"after", "before", "body", "content", "cursor", "date", "description", "email", "end", "fields", "filter", "from"}
    | {"id", "ids", "key", "language", "limit", "message", "name", "offset", "order", "page", "page_size", "per_page"}
    | {"q", "query", "search", "since", "sort", "start", "state", "status", "tags", "text", "title", "to", "type"}
    | {"until", "url", "user"}
)
_SELDOM: Final = re.compile(
    r"^(?:alt|callback|pretty\w*|quota_?user|upload\w*|access_token|oauth_token|expand|dry_?run|\W*xgafv|api_version"
    r"|x_\w+|metadata|extensions?|etag|if_\w+|idempotency_key|trace\w*)$|legacy|experimental|beta|internal",
    re.IGNORECASE,
)
_DEPRECATED: Final = re.compile(
    r"\W*(?:this \w+ is )?(?:deprecated|obsolete)\b|.*\((?:deprecated|obsolete)\b", re.IGNORECASE
)

Entry = dict[str, Any]


class Recorder(Protocol):
    """Records what a tool loses."""

    def add(self, kind: str, about: str, detail: str) -> None:
        """Record a loss of a tool or an operation; `detail` names the part."""


@dataclass(slots=True)
class Budget:
    """Fits the tools of a document. `types` are the tables of its types, whose texts may be shortened."""

    max_tokens: int
    types: Mapping[str, Entry]
    losses: Recorder
    shared: frozenset[str]
    """Names of optional parameters that most operations have."""
    _costs: dict[str, int] = field(default_factory=dict)

    def tokens(self, params: Mapping[str, Entry]) -> int:
        """Return the estimated tokens of parameters, with their types."""
        return sum(self._entry_costs(params).values())

    def shorten_types(self, params: Iterable[Mapping[str, Entry]]) -> None:
        """Shorten the descriptions of the fields of the types that large tools use."""
        expressions = [
            entry["type"] for each in params if self.tokens(each) > self.max_tokens for entry in each.values()
        ]
        pending, seen = [name for expression in expressions for name in names(parse(expression))], set[str]()
        while pending:
            name = pending.pop()
            if name in seen or name not in self.types:
                continue
            seen.add(name)
            for value in self._fields(name).values():
                pending += names(parse(value["type"]))
                if "description" in value:
                    value["description"] = sentences(value["description"], _LENGTHS[1])
        self._costs.clear()

    def fit(self, key: str, tool: Entry, kept: Collection[str]) -> None:
        """Change the parameters of a tool until they fit, as far as those that it needs permit.

        Args:
            key: the operation, for its losses.
            tool: the table of the tool.
            kept: names of parameters that stay, since the manifest has them.
        """
        params: dict[str, Entry] = tool["params"]
        costs = self._entry_costs(params)

        def is_large() -> bool:
            return sum(costs.values()) > self.max_tokens

        if is_large() and "description" in tool:
            tool["description"] = shorten(tool["description"], _MAX_DESCRIPTION)
        for length in _LENGTHS:
            if is_large():
                for entry in params.values():
                    _shorten(entry, length)
                costs |= self._entry_costs(params)
        if is_large():
            for name, entry in params.items():
                self._fold_choices(key, name, entry)
            costs |= self._entry_costs(params)
        optional = [name for name, entry in params.items() if entry.get("required") is False]
        self._fold_types(key, params, optional, costs)
        words = f"{tool.get('summary', '')} {tool.get('description', '')}"
        use = usefulness(params, words, self.shared)
        for name in sorted(optional, key=lambda name: use[name]):
            if not is_large() or len(params) == 1:  # a tool without parameters would lack its request
                break
            if name not in kept and name != tool.get("save"):
                entry = params.pop(name)
                del costs[name]
                self.losses.add(
                    "rare", key, next((entry[place] for place in REQUEST_LOCATIONS if place in entry), name)
                )
        self._fold_types(key, params, list(params), costs)

    def _fold_types(self, key: str, params: dict[str, Entry], chosen: list[str], costs: dict[str, int]) -> None:
        """Replace the types of parameters by `object`, the largest first, until the tool fits. Update the `costs`."""
        for name in sorted(chosen, key=lambda name: -costs.get(name, 0)):
            if sum(costs.values()) <= self.max_tokens or name not in params:
                return
            entry = params[name]
            kind = next((kind for kind in names(parse(entry["type"])) if self._fields(kind)), "")
            if not kind:
                continue
            entry["type"] = entry["type"].replace(kind, "object")
            fields = self._fields(kind)
            shown = [
                f"{field}{' (required)' if value.get('required', True) else ''}" for field, value in fields.items()
            ]
            more = f" and {len(shown) - _SHOWN_MEMBERS} more" if len(shown) > _SHOWN_MEMBERS else ""
            _describe(entry, f"Members: {', '.join(shown[:_SHOWN_MEMBERS])}{more}")
            costs[name] = self._entry_tokens(name, entry)
            self.losses.add("large", key, name)

    def _fold_choices(self, key: str, name: str, entry: Entry) -> None:
        choices = entry.get("enum", ())
        if len(choices) > _MAX_CHOICES:
            shown = ", ".join(f"`{choice}`" for choice in choices[:_SHOWN_CHOICES])
            _describe(entry, f"One of {len(choices)} values, such as {shown}")
            del entry["enum"]
            self.losses.add("constraint", key, f"{name}: {len(choices)} choices, which need too many tokens")

    def _entry_costs(self, params: Mapping[str, Entry]) -> dict[str, int]:
        return {name: self._entry_tokens(name, entry) for name, entry in params.items()}

    def _entry_tokens(self, name: str, entry: Entry) -> int:
        sent: Entry = {name: {key: value for key, value in entry.items() if key not in _NOT_SENT}}
        # The description that clients get repeats the constraints in words.
        sent["words"] = {key: value for key, value in entry.items() if key in _CONSTRAINTS}
        required = 2 if entry.get("required", True) else 0
        inner = sum(self._type_tokens(kind) for kind in names(parse(entry["type"])) if kind in self.types)
        return estimate_tokens(_json(sent)) + required + inner

    def _type_tokens(self, name: str) -> int:
        if name not in self._costs:
            self._costs[name] = 0  # a type never contains itself
            table = self.types[name]
            head = {"type": "object", "properties": {}, "required": []} if "fields" in table else table
            fields = self._fields(name).items()
            self._costs[name] = estimate_tokens(_json(head)) + sum(self._entry_tokens(*field) for field in fields)
        return self._costs[name]

    def _fields(self, name: str) -> Mapping[str, Entry]:
        """Return the fields of a type; none of an enumeration, or of a name that is no type."""
        fields: Mapping[str, Entry] = self.types.get(name, {}).get("fields", {})
        return fields


@dataclass(frozen=True, slots=True)
class FittedSchema:
    """A schema with shortened descriptions, and the optional properties that do not fit.

    `tokens` are those of the schema without these.
    """

    schema: Entry
    dropped: list[str]
    tokens: int

    @property
    def has_properties(self) -> bool:
        """Whether a property stays, if the schema has any. A tool without one would lack its request."""
        return not self.dropped or len(self.dropped) < len(self.schema["properties"])

    def without_dropped(self) -> Entry:
        """Return the schema without the properties that do not fit."""
        if not self.dropped:
            return self.schema
        properties = {name: part for name, part in self.schema["properties"].items() if name not in self.dropped}
        result = {**self.schema, "properties": properties}
        if "$defs" in result:
            result["$defs"] = dict(result["$defs"])
            _remove_unused(result)
        return result


def fitted_schema(
    schema: Mapping[str, Any], max_tokens: int, kept: Collection[str], *, words: str = "", is_fixed: bool = False
) -> FittedSchema:
    """Fit the schema of the arguments of a tool, as far as its required properties permit.

    Args:
        schema: the schema; it stays as it is.
        max_tokens: the limit.
        kept: names of optional properties that stay.
        words: the texts of the tool.
        is_fixed: whether all properties stay.
    """
    result: Entry = copy.deepcopy(dict(schema))
    for length in _LENGTHS:
        if (tokens := _sent_tokens(result)) <= max_tokens:
            return FittedSchema(result, [], tokens)
        _shorten_all(result, length)
    properties = result.get("properties")
    fitted = FittedSchema(result, [], _sent_tokens(result))
    if is_fixed or not isinstance(properties, dict):
        return fitted
    use = usefulness(properties, words, frozenset())
    stay = {*result.get("required", ()), *kept}
    for name in sorted((name for name in properties if name not in stay), key=lambda name: use[name]):
        if fitted.tokens <= max_tokens:
            break
        fitted = _without(fitted, [*fitted.dropped, name])
    # A large property makes room for small ones that were dropped before.
    for name in reversed(fitted.dropped[:-1]):
        more = _without(fitted, [each for each in fitted.dropped if each != name])
        fitted = more if more.tokens <= max_tokens else fitted
    return fitted


def _without(fitted: FittedSchema, dropped: list[str]) -> FittedSchema:
    candidate = replace(fitted, dropped=dropped)
    return replace(candidate, tokens=_sent_tokens(candidate.without_dropped()))


def _sent_tokens(schema: Mapping[str, Any]) -> int:
    """Return the tokens of an `input_schema` in the form that clients get."""
    return estimate_tokens(_json(advertise(dict(schema)).schema))


def usefulness(params: Mapping[str, Any], words: str, shared: Collection[str]) -> dict[str, float]:
    """Return an estimate of the use of each parameter.

    Usual names, those that the texts of the tool mention, and the first ones are used more often than headers,
    deprecated ones, and those that all operations have.
    """
    mentioned = {word.casefold() for word in re.findall(r"\w+", words)}
    use: dict[str, float] = {}
    for position, (name, schema) in enumerate(params.items()):
        entry = schema if isinstance(schema, dict) else {}  # JSON Schema has true and false as well
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        is_mentioned = plain in mentioned or name.casefold() in mentioned
        score = 1 - position / len(params) + 2 * (plain in _USUAL) + is_mentioned
        score -= _json(entry).count(" ") / 200 + 2 * ("header" in entry) + 2 * bool(_SELDOM.search(plain))
        score -= 4 * bool(_DEPRECATED.match(str(entry.get("description", "")))) + 3 * (
            name in shared and plain not in _USUAL
        )
        use[name] = score
    return use


def shared_names(tools: Iterable[Mapping[str, Entry]]) -> frozenset[str]:
    """Return the names of optional parameters that most tools have."""
    count, total = Counter[str](), 0
    for params in tools:
        total += 1
        count.update(name for name, entry in params.items() if entry.get("required") is False)
    return frozenset(name for name, number in count.items() if total >= 10 and number >= _SHARED * total)


def sentences(description: str, length: int) -> str:
    """Return the first sentences of at most `length` characters; one sentence may have up to `_MAX_SENTENCE`."""
    short = shorten(description, length)
    if not short.endswith("…") or length >= _MAX_SENTENCE:
        return short
    first = re.match(r".+?[.!?](?=\s|$)", description)
    return first[0] if first and len(first[0]) <= _MAX_SENTENCE else shorten(description, _MAX_SENTENCE)


def _shorten(entry: Entry, length: int) -> None:
    if "description" in entry:
        # The default of the API is at the end: it shows whether a call needs the parameter.
        head, mark, default = entry["description"].rpartition("Default: ")
        entry["description"] = (
            f"{sentences(head.rstrip(), length)} {mark}{default}".strip() if mark else sentences(default, length)
        )


def _describe(entry: Entry, fact: str) -> None:
    description = entry.get("description", "").rstrip()
    entry["description"] = f"{description}{'' if not description or description.endswith('.') else '.'} {fact}".strip()


def _shorten_all(node: Any, length: int) -> None:
    if isinstance(node, dict):
        if isinstance(node.get("description"), str):
            _shorten(node, length)
        for inner in node.values():
            _shorten_all(inner, length)
    elif isinstance(node, list):
        for inner in node:
            _shorten_all(inner, length)


def _remove_unused(schema: Entry) -> None:
    """Remove the definitions that nothing refers to."""
    definitions: Entry = schema.get("$defs", {})
    pending, used = [{key: value for key, value in schema.items() if key != "$defs"}], set[str]()
    while pending:
        for name in re.findall(r'"#/\$defs/([^"]+)"', _json(pending.pop())):
            if name not in used and name in definitions:
                used.add(name)
                pending.append(definitions[name])
    for name in definitions.keys() - used:
        del definitions[name]
    if not definitions:
        schema.pop("$defs", None)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
