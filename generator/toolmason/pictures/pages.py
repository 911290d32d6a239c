"""HTML pages with pictures: one file without scripts, which loads nothing and forbids the browser to."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolmason.pictures.labels import label, printable

_MAX_TEXT: Final = 400
"""Maximum letters of a text in a table."""


def render_page(package: str, template: str, **variables: Any) -> str:
    """Return the page of a template in `package`, which extends `page.html.jinja`."""
    packages = (package, "toolmason.pictures", "toolmason_templates")
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, ".") for each in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Every text is escaped here, so that the `xml` of pictures has only to replace control characters.
    environment.filters |= {"label": label, "short": short, "xml": printable}
    style = environment.get_template("page.css.jinja").render()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode("ascii")
    return environment.get_template(template).render(style=style, style_hash=f"sha256-{digest}", **variables)


def short(text: str) -> str:
    """Return a text of a table on one line, cut if it is very long."""
    return label(text, _MAX_TEXT).shown
