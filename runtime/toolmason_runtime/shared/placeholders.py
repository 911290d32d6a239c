"""Placeholders in texts of a manifest: names of tools, which depend on the discovery style and on the client.

`{tool:read_files}` is the name of a tool as the client sees it. `{search}`, `{describe}`, `{call}` and `{call_read}`
are the meta-tools of the style, and `{discovery}` is its sentences about them. `{calling:read_files,git_log}` is the
sentence with the meta-tools that call these tools. A style without such a tool has no name for it: the sentence with
the placeholder is left out. `{{search}}` is the text `{search}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.shown_names import meta_name as bare_meta_name
from toolmason_runtime.shared.styles import CLASSIC, CODE, STYLES

TOOL: Final = "tool:"
CALLING: Final = "calling:"
META_TOOLS: Final = ("search", "describe", "call", "call_read")
"""The placeholders for the meta-tools of a style, by their tasks."""
DISCOVERY: Final = "discovery"

_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_OWN: Final = re.compile(rf"search|describe|call|call_read|discovery|tool:{_NAME}|calling:{_NAME}(?:,{_NAME})*")
_PLACEHOLDER: Final = re.compile(r"(?<!\{)(\{++)([A-Za-z_][A-Za-z0-9_.:,-]*+)(\}++)")
_BLOCK_END: Final = re.compile(r"(\n[ \t]*\n\s*|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t]))")
"""The end of a paragraph or of an item of a list."""
_SENTENCE_END: Final = re.compile(r"""((?<=[.!?])(?<!\b\w\.\w\.)(?<!\d\.)\s+(?=[^\W\d_a-z]|["'(\[*`_{\d]))""")
_MARKER: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?")
"""The start of an item of a list."""
_TEXT_KEYS: Final = frozenset({"title", "description", "summary", "instructions"})
_DATA_KEYS: Final = frozenset({"default", "enum", "const", "examples", "example"})
"""Members of a schema whose values are data."""
_MAP_KEYS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
"""Members of a schema whose keys are names of the manifest."""

_SEARCH: Final[Mapping[str, str]] = {
    "search-call": "search",
    "list-describe": "list_available_tools",
    "discover-schema": "discover_tools",
    CODE: "search",
}
_SENTENCES: Final[Mapping[str, str]] = {
    "search-call": "Most tools are not listed. Search first, then call: `{search}` with a few words returns matching"
    " tools with their arguments, {calls}.",
    "list-describe": "Most tools are not listed: `{search}` lists their names, `{describe}` returns the parameters of"
    " one, and `{call}` runs it.",
    "discover-schema": "Most tools are not listed: `{search}` finds them by a few words, `{describe}` returns the"
    " parameters of one, and `{call}` runs it.",
    CODE: "Most tools are not listed: they are functions of a Python program. `{search}` returns the signatures for a"
    " few words; write one program for all steps, {calls}. Await each call, `asyncio.gather` independent ones, and end"
    " with the value you need.",
}


class Placeholders:
    """The texts of placeholders in one discovery style.

    Args:
        style: the discovery style.
        meta_name: returns the shown name of a meta-tool of `STYLES`.
        shown_name: returns the shown name of a tool or alias.
        is_listed: returns whether the style lists a tool.
        is_read_only: returns whether a tool only reads; None for a tool that does not exist.
        split_calls: whether there is a meta-tool for tools that only read.
    """

    def __init__(
        self,
        style: str,
        *,
        meta_name: Callable[[str], str],
        shown_name: Callable[[str], str],
        is_listed: Callable[[str], bool],
        is_read_only: Callable[[str], bool | None],
        split_calls: bool,
    ) -> None:
        facts = STYLES[style]
        call_read = facts.call_read if split_calls and facts.call_read else facts.call
        own = (_SEARCH.get(style, ""), facts.describe, facts.call, call_read)
        self._metas = {task: meta_name(name) if name else "" for task, name in zip(META_TOOLS, own, strict=True)}
        self._style = style
        self._shown_name = shown_name
        self._is_listed = is_listed
        self._is_read_only = is_read_only

    def text_of(self, placeholder: str) -> str:
        """Return the text of a placeholder without its braces; empty if the style has none."""
        if placeholder in self._metas:
            return self._metas[placeholder]
        if placeholder == DISCOVERY:
            return self._discovery()
        if placeholder.startswith(CALLING):
            return self.calling(placeholder.removeprefix(CALLING).split(","))
        return self._shown_name(placeholder.removeprefix(TOOL))

    def _discovery(self) -> str:
        metas = self._metas
        is_split = metas["call"] != metas["call_read"]
        what = "a program" if self._style == CODE else "a tool"
        reads = f"`{metas['call_read']}` runs {what} that only reads, `{metas['call']}` any other"
        calls = reads if is_split else f"and `{metas['call']}` runs {'it' if self._style == CODE else 'one'}"
        return _SENTENCES.get(self._style, "").format(**metas, calls=calls)

    def calling(self, tools: Sequence[str]) -> str:
        """Return a sentence with the meta-tools that call the unlisted ones of `tools`, empty if all are listed."""
        reads = {name: self._is_read_only(name) for name in tools if not self._is_listed(name)}
        runners = {
            name: self._metas["call_read" if only_reads else "call"]
            for name, only_reads in reads.items()
            if only_reads is not None
        }
        names = sorted(set(runners.values()))
        if not all(names):
            return ""  # a style without meta-tools
        if self._style == CODE:
            meta = self._metas["call_read" if all(reads[name] for name in runners) else "call"]
            return f"Call unlisted tools in a program of `{meta}`." if names else ""
        if len(names) < 2:
            return f"Call unlisted tools with `{names[0]}`." if names else ""
        others = ", ".join(f"`{name}`" for name, runner in runners.items() if runner == self._metas["call"])
        return f"Call unlisted tools with `{self._metas['call_read']}`, but {others} with `{self._metas['call']}`."

    def needed_tools(self, tools: Sequence[str]) -> list[str]:
        """Return the listed tools that calls of `tools` need, sorted: themselves, or the meta-tools for them."""
        names = {self._shown_name(name) for name in tools if self._is_listed(name)}
        for name in tools:
            only_reads = self._is_read_only(name)
            if only_reads is not None and not self._is_listed(name):
                names |= {self._metas["describe"], self._metas["call_read" if only_reads else "call"]}
        return sorted(names)

    def fill(self, text: str, values: Mapping[str, str] | None = None) -> str:
        """Return `text` with the texts of its placeholders, without the sentences whose placeholder has none.

        `values` are those of further placeholders, such as the arguments of a prompt. They have precedence, and are
        not searched for placeholders.
        """
        if "{" not in text:
            return text
        values = values or {}
        if self._is_complete(text, values):
            return self._filled(text, values)
        blocks = _BLOCK_END.split(text)
        filled = [self._filled_block(block, values) for block in blocks[::2]]
        # The end of a block that is left out goes with it.
        kept = [(block, blocks[2 * index - 1] if index else "") for index, block in enumerate(filled) if block]
        filled_text = "".join((end if number else "") + block for number, (block, end) in enumerate(kept))
        return filled_text + "\n" * (text.endswith("\n") and not filled_text.endswith("\n"))

    def _filled_block(self, block: str, values: Mapping[str, str]) -> str:
        marker = _MARKER.match(block)
        start = marker[0] if marker else ""
        parts = _SENTENCE_END.split(block[len(start) :])
        sentences = [
            (parts[2 * index - 1] if index else "", sentence)
            for index, sentence in enumerate(parts[::2])
            if self._is_complete(sentence, values)
        ]
        text = "".join((end if number else "") + sentence for number, (end, sentence) in enumerate(sentences))
        return start + self._filled(text, values) if text else ""

    def _is_complete(self, text: str, values: Mapping[str, str]) -> bool:
        """Return whether every placeholder has a text."""
        return all(self._replacement(match, values) is not None for match in _PLACEHOLDER.finditer(text))

    def _filled(self, text: str, values: Mapping[str, str]) -> str:
        return _PLACEHOLDER.sub(lambda match: self._replacement(match, values) or "", text)

    def _replacement(self, match: re.Match[str], values: Mapping[str, str]) -> str | None:
        """Return the text in place of a match; None if its sentence is left out."""
        opening, name, closing = match[1], match[2], match[3]
        is_own = _OWN.fullmatch(name)
        if is_own and len(opening) > 1 and len(closing) > 1:
            return match[0][1:-1]
        if name in values:
            return opening[1:] + values[name] + closing[1:]
        if not is_own:
            return match[0]
        text = self.text_of(name)
        return opening[1:] + text + closing[1:] if text else None

    def fill_entry(self, entry: ToolEntry) -> ToolEntry:
        """Return the entry of a tool with the placeholders filled in its texts."""
        if not entry.get("placeholders"):
            return entry
        filled: ToolEntry = {**entry, "summary": self.fill(entry["summary"]), "tool": self.fill_schema(entry["tool"])}
        if "complete_schema" in entry:
            filled["complete_schema"] = self.fill_schema(entry["complete_schema"])
        return filled

    def fill_schema(self, value: Any) -> Any:
        """Return JSON with the placeholders filled in the texts of its objects, such as a schema."""
        if isinstance(value, list):
            return [self.fill_schema(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: self._filled_member(key, part) for key, part in value.items()}

    def _filled_member(self, key: str, value: Any) -> Any:
        if key in _TEXT_KEYS and isinstance(value, str):
            return self.fill(value)
        if key in _MAP_KEYS and isinstance(value, dict):
            return {name: self.fill_schema(part) for name, part in value.items()}
        return value if key in _DATA_KEYS else self.fill_schema(value)


def placeholders_of(
    catalogue: Catalogue,
    style: str = "",
    *,
    meta_name: Callable[[str], str] | None = None,
    shown_name: Callable[[str], str] = str,
) -> Placeholders:
    """Return the texts of placeholders for the tools of a catalogue.

    Args:
        catalogue: the tools.
        style: the discovery style; empty for that of the manifest.
        meta_name: returns the shown name of a meta-tool of `STYLES`; None for the bare one.
        shown_name: returns the shown name of a listed tool or alias; by default the bare one.
    """
    discovery = catalogue["discovery"]
    style = style or discovery["style"]
    listed = set(discovery.get("pins", {}).get(style, discovery["pinned"]))
    tools = catalogue["tools"]
    names = {alias: name for name, entry in tools.items() for alias in entry.get("aliases", ())}

    def is_listed(name: str) -> bool:
        return style == CLASSIC or name in listed

    def listed_name(name: str) -> str:
        if style == CLASSIC:
            return shown_name(names.get(name, name))
        return shown_name(name) if name in listed else name

    def is_read_only(name: str) -> bool | None:
        entry = tools.get(names.get(name, name))
        return None if entry is None else bool(entry["tool"].get("annotations", {}).get("readOnlyHint"))

    return Placeholders(
        style,
        meta_name=meta_name or (lambda name: bare_meta_name(name, {*tools, *names}, discovery["prefix"])),
        shown_name=listed_name,
        is_listed=is_listed,
        is_read_only=is_read_only,
        split_calls=discovery["split_calls"],
    )


def meta_tool_tasks() -> Mapping[str, str]:
    """Return the placeholder of each meta-tool of `STYLES` by its name there."""
    tasks: dict[str, str] = {}
    for style, facts in STYLES.items():
        for task, name in zip(
            META_TOOLS, (_SEARCH.get(style), facts.describe, facts.call, facts.call_read), strict=True
        ):
            if name:
                tasks.setdefault(name, task)
    return tasks


def placeholders_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the placeholders of a text without their braces, and the offset of each."""
    for match in _PLACEHOLDER.finditer(text):
        if _OWN.fullmatch(match[2]) and not (len(match[1]) > 1 and len(match[3]) > 1):
            yield match[2], match.end(1) - 1


def has_placeholders(text: str) -> bool:
    """Return whether `fill` changes a text: it has a placeholder or an escaped one."""
    return any(_OWN.fullmatch(match[2]) for match in _PLACEHOLDER.finditer(text))


def escape_placeholders(text: str) -> str:
    """Return a text of others, which has no placeholders, so that `fill` shows it as it is. Escaped ones stay."""

    def escaped(match: re.Match[str]) -> str:
        is_escaped = len(match[1]) > 1 and len(match[3]) > 1
        return f"{{{match[0]}}}" if _OWN.fullmatch(match[2]) and not is_escaped else match[0]

    return _PLACEHOLDER.sub(escaped, text)


def escape_texts(value: Any) -> Any:
    """Escape the texts in TOML or JSON of others, at any depth and in place: titles, summaries, descriptions."""
    for key, part in value.items() if isinstance(value, dict) else ():
        if key in _TEXT_KEYS and isinstance(part, str):
            value[key] = escape_placeholders(part)
        elif isinstance(part, dict) or key not in _DATA_KEYS:
            escape_texts(part)
    for item in value if isinstance(value, list) else ():
        escape_texts(item)
    return value
