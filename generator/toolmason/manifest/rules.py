"""Rules of texts that several tables of the manifest share."""

from __future__ import annotations

from typing import Any, Final

from toolmason_runtime.shared.toml.tables import at_most, matching, one_line

TITLE = one_line("keep to one line; `description` has room for more")
SUMMARY = at_most(80) | TITLE
FUNCTION = matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`")
MEDIA_TYPE = matching(r"[a-z0-9.+-]+/[A-Za-z0-9.+-]+(?:; ?[a-z]+=[\w-]+)?", "a media type such as `text/markdown`")
DATE = matching(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])", "a date such as `2027-06-30`, in quotes")
VARIABLE = matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable")
PATH = matching(r"(?!.*\.\.)[\w-][\w.-]*(?:/[\w-][\w.-]*)*", "a relative path such as `pages/guide.md`")
DISTRIBUTION = matching(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9]+(?:[,_-][A-Za-z0-9]+)*\])?",
    "the name of a distribution such as `notes-server`, with extras as in `notes[server]`",
)
WEB_ADDRESS = matching(r"(?:https?://|\$)\S+", "an `https:` or `http:` URL")
TEXT = matching(r"[\s\S]*\S[\s\S]*", "a text that is not blank")
HEADER = matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "the name of an HTTP header")
WIRE_NAME = matching(r"\S[^\x00-\x1f\x7f-\x9f\u2028\u2029]*", "a name in the request")
MEMBER = matching(r"[^\s.]+(?:\.[^\s.]+)*", "a path of members such as `meta.next`")
FLAG = matching(
    r"--?[A-Za-z0-9?@#][A-Za-z0-9?@#.:+_-]*=?|[A-Za-z][A-Za-z0-9_-]*=?",
    "an option such as `-n`, `--max-count`, `--format=` or, for a boolean, `overwrite`",
)


NAMES: Final = "names"
"""The rule with the kind of names that a value has; `references` finds them in a manifest."""


def tool_name(noun: str = "tool") -> dict[str, Any]:
    """Declare that a text, each item of an array or each key of a table is a name of a tool. `noun` is for errors."""
    return {NAMES: ("tool", noun)}


def sibling_name() -> dict[str, Any]:
    """Declare that a text is the name of another tool; in a parameter, that of another parameter of the tool."""
    return {NAMES: ("sibling", "tool")}


def param_name(placeholder: str = "") -> dict[str, Any]:
    """Declare that a text is the name of a parameter of the same tool, and the keys of a table are such names.

    With `placeholder`, each match of its group `name` in the text is one.
    """
    return {NAMES: ("param", placeholder)}
