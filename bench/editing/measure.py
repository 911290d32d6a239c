"""Measure reviewed editing, ours and that of fs-mcp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.editing.calls import Outcome, perform, tasks
from bench.editing.fuzz import Losses, lose_with_fs_mcp, lose_with_our_server, lose_with_ours, make_cases
from bench.editing.servers import OURS, THEIRS, Editor, install_fs_mcp, our_editor, their_editor
from bench.session import Workspace

EDITS: Final = 10_000
SERVER_EDITS: Final = 200
"""Edits through the real server: each waits for the disk several times."""
SHORT_EDITS: Final = 200
SHORT_SERVER_EDITS: Final = 20

PURE: Final = f"{OURS}, function"
SERVER: Final = f"{OURS}, server"


@dataclass(frozen=True, slots=True)
class Editing:
    """The results: by server and task, and by the fuzzed program."""

    definitions: dict[str, int]
    """Tokens of the definition of the tool."""
    outcomes: dict[tuple[str, str], Outcome]
    """By server and label of the task."""
    losses: dict[str, Losses]

    @property
    def tasks(self) -> Sequence[str]:
        """The labels of the tasks, in order."""
        return list(dict.fromkeys(task for _, task in self.outcomes))


def measure_editing(workspace: Workspace, python: str | None, *, is_short: bool = False) -> Editing:
    """Perform the tasks and the fuzz with both servers. `python` has fs-mcp; None installs it."""
    python = python or install_fs_mcp(workspace)
    definitions: dict[str, int] = {}
    outcomes: dict[tuple[str, str], Outcome] = {}
    losses: dict[str, Losses] = {}
    cases = list(make_cases(SHORT_EDITS if is_short else EDITS))

    def measure(editor: Editor) -> None:
        definitions[editor.label] = editor.definition_tokens()
        outcomes.update({(editor.label, task.label): perform(editor, task) for task in tasks()})

    losses[PURE] = lose_with_ours(cases)
    with our_editor(workspace) as ours:
        measure(ours)
        losses[SERVER] = lose_with_our_server(ours, cases[: SHORT_SERVER_EDITS if is_short else SERVER_EDITS])
    with their_editor(workspace, python) as theirs:
        measure(theirs)
    losses[THEIRS] = lose_with_fs_mcp(workspace, python, cases)
    return Editing(definitions, outcomes, losses)
