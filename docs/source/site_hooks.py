"""Hooks of the documentation site: pages of this repository outside docs/, and links to files without a page.

The pages are read on GitHub as well, so their links are paths in the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
_LINK: Final = re.compile(r"(?<!`)(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def outside_pages() -> dict[str, str]:
    """Return the pages outside docs/: path in the repository -> path in the site."""
    names = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    project = {name: f"project/{name.lower()}" for name in names}
    generated = ROOT / "generated" / "docs"
    tools = [path.relative_to(generated).as_posix() for path in (generated / "index.md", *generated.glob("tools/*.md"))]
    return project | {f"generated/docs/{name}": f"workbench-tools/{name}" for name in sorted(tools)}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages outside docs/ to the navigation."""
    outside = outside_pages()
    tools = [uri for uri in outside.values() if uri.startswith("workbench-tools/")]
    project = [uri for uri in outside.values() if uri.startswith("project/")]
    config.nav = [*(config.nav or []), {"Tools of Workbench": tools}, {"Project": project}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/."""
    from mkdocs.structure.files import File

    for path, uri in outside_pages().items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  by name
    """Rewrite links from paths in the repository to paths in the site."""
    uri = page.file.src_uri
    origin = next((path for path, mapped in outside_pages().items() if mapped == uri), f"docs/{uri}")
    parts = _FENCE.split(markdown)
    # A link to a file that has no page leads to the repository, or nowhere before it has an address.
    base = (config.repo_url or "").rstrip("/")
    rewritten = (part if part.startswith("```") else _rewrite(part, origin, uri, base) for part in parts)
    return "".join(rewritten)


def _rewrite(text: str, origin: str, uri: str, repository: str) -> str:
    outside = outside_pages()

    def replace(link: re.Match[str]) -> str:
        mark, label, path, anchor = link.groups(default="")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        if not (ROOT / target).exists():
            return link[0]  # reported by mkdocs
        in_site = outside.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else "")
        if in_site:
            return f"{mark}[{label}]({posixpath.relpath(in_site, posixpath.dirname(uri) or '.')}{anchor})"
        return f"[{label}]({repository}/blob/main/{target})" if repository else label

    return _LINK.sub(replace, text)
