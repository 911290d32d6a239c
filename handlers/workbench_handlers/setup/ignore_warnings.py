"""Says when `.gitignore` keeps files from the model, where a person or an agent would else wonder.

Section 9.1 of the specification of the research proxy names three places; the third is where a tool asked for
such a file: its error (`workbench_handlers.model_backends.failure_kinds`), or a warning of its result (`workbench_handlers.research.analysis`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workbench_handlers.setup.configuration import Environ, Settings, settings, shown, user_settings

SETTING: Final = "context.fileFiltering.respectGitIgnore"
PAGE: Final = "https://geminicli.com/docs/cli/gemini-ignore/"


def is_git_ignore_respected(environ: Environ) -> bool:
    """Whether Gemini CLI leaves out what `.gitignore` names. It does unless its settings say otherwise."""
    return _respected(settings(environ))


def _respected(held: Settings) -> bool:
    """Look at the setting where it has stood since the settings were sorted by subject, then where it stood before."""
    for path in (("context", "fileFiltering", "respectGitIgnore"), ("fileFiltering", "respectGitIgnore")):
        value = held.get(*path)
        if isinstance(value, bool):
            return value
    return True


def for_health_check(environ: Environ) -> tuple[str, ...]:
    """Give the warning of `health_check`; none if files are not left out."""
    if not is_git_ignore_respected(environ):
        return ()
    where = shown(user_settings(environ), environ)
    said = "Gemini CLI is configured to respect .gitignore patterns. This may prevent analysis of git-ignored files."
    way_out = f"To analyze all files, consider setting '{SETTING}: false' in {where}"
    return (f"{said} {way_out} or using .geminiignore for selective exclusions.",)


def for_setup(environ: Environ) -> Iterator[str]:
    """Give the paragraphs of the warning of `workbench init`; none if files are not left out."""
    if not is_git_ignore_respected(environ):
        return
    yield "Gemini CLI leaves out what .gitignore names. So it does not read, where they are ignored:"
    yield "- node_modules/ (to ask about dependencies)"
    yield "- dist/ or build/ (to ask about compiled output)"
    yield "- .env files (to ask about configuration)"
    way_out = f"turn the setting off, and name in .geminiignore what should stay out ({PAGE}):"
    yield f"That is most often what one wants. To have such files read, {way_out}"
    yield "1. Run: gemini"
    yield "2. Type: /settings"
    yield f"3. Set: {SETTING} = false"
