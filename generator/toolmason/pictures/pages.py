"""HTML pages with pictures: one file without scripts, which loads nothing and forbids the browser to."""

from __future__ import annotations

import base64
import re
from hashlib import sha256
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from toolmason.model.python_text import escape_unprintable
from toolmason.pictures.labels import label, xml

_CODE: Final = re.compile("`([^`]+)`")
_MAX_TEXT: Final = 400
"""Maximum letters of a text in a table."""


def render_page(package: str, template: str, **variables: Any) -> str:
    """Return the page of a template in `package`, which extends `page.html.jinja`."""
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader(package, "."),
                PackageLoader("toolmason.pictures", "."),
                PackageLoader("toolmason_templates", "."),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"xml": xml, "code": code, "short": short, "name": name}
    # Markup: the style sheet is ours, and its hash is that of its exact text.
    style = Markup(environment.get_template("page.css.jinja").render())  # noqa: S704
    digest = base64.b64encode(sha256(style.encode()).digest()).decode("ascii")
    return environment.get_template(template).render(style=style, style_hash=f"sha256-{digest}", **variables)


def code(text: str) -> Markup:
    """Return a text in which words in backticks are code."""
    parts = _CODE.split(short(text))
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def short(text: str) -> str:
    """Return a text of a table, cut if it is very long."""
    return label(text, _MAX_TEXT).shown


def name(text: str) -> Markup:
    """Return a name as code, cut with the whole text as its title if it is long."""
    shown = label(text)
    title = Markup(' title="{}"').format(escape_unprintable(text)) if shown.shown != shown.full else ""
    return Markup("<code{}>{}</code>").format(title, shown.shown)
