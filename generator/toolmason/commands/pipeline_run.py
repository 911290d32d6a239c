"""One run of `generate` or `check` from the command line: what it says, and the code it ends with."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import click

from toolmason import pipeline
from toolmason.commands.options import Exit, print_findings
from toolmason.diagnostics import Diagnostic, Diagnostics, Location
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.diagnostics.terminal import Layout, Progress, paint, progress, wants_colour
from toolmason.model.checksum import LISTING
from toolmason.pipeline import Outcome
from toolmason.project import Project
from toolmason.render.self_check import SelfCheckError
from toolmason.write import EditedFiles, LockHeld
from toolmason.write.changes import REFUSED, Change, ChangeKind, Changes
from toolmason.write.compare import UNLISTED
from toolmason.write.snapshot import DiskFailure, MisplacedFolder

MAX_DIFF_LINES = 60
"""Lines of difference shown unasked."""

CODES: Final = {
    ChangeKind.CREATED: ("TM601", "missing"),
    ChangeKind.CHANGED: ("TM602", "stale"),
    ChangeKind.PRUNED: ("TM603", "extra"),
    ChangeKind.EDITED: ("TM604", "edited"),
    ChangeKind.BLOCKED: ("TM605", "in the way"),
}
"""What a difference is called where it fails a run. Foreign files are nobody's mistake."""

INTERRUPTED: Final = "TM606"
"""What it is called that a run was ended in the middle of writing."""

MISPLACED: Final = "TM607"
"""What it is called that the generated folder or the lock leads elsewhere."""

PATH_HINTS: Final = {
    MISPLACED: "remove it: nothing is read or written through a link",
    "TM608": "put a copy of the file into the project",
    "TM609": "look for a loop or a repetition without end in it and in what it includes",
}
"""What to do about a path that is refused."""

_LIST_MISSING: Final = f"restore {LISTING}, the list of hashes, from version control; or generate with --discard-edits"
_WAYS_OUT = """\
ways out:
  what it says      edit {manifest}, then generate
  how it reads      a template of your own: toolmason templates eject NAME
  what it does      a handler, which generate never touches
  or lose the edit  toolmason generate --discard-edits
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What the command line asked for. Text for people goes to stdout, findings and failures to stderr."""

    project: Project
    layout: Layout
    only: str | None
    show_diff: bool = False

    def generate(self, *, discard_edits: bool = False) -> Exit:
        """Write, and say what was written."""

        def work(diagnostics: Diagnostics, show: Progress) -> Outcome | None:
            return pipeline.generate(
                self.project, diagnostics=diagnostics, only=self.only, discard_edits=discard_edits, progress=show
            )

        def tell(outcome: Outcome, diagnostics: Diagnostics) -> Exit:
            self._print_findings(diagnostics)
            if self.show_diff:
                self._print_diff(outcome.changes.all)
            if self.layout == "text":
                click.echo(written(outcome))
            return Exit.FINE

        return self._guarded(work, tell)

    def check(self) -> Exit:
        """Compare, and say what differs."""

        def work(diagnostics: Diagnostics, show: Progress) -> Outcome | None:
            return pipeline.compare(self.project, diagnostics=diagnostics, only=self.only, progress=show)

        def tell(outcome: Outcome, diagnostics: Diagnostics) -> Exit:
            changes = outcome.changes
            if changes.is_interrupted and self.layout != "text":
                diagnostics.add(_interrupted(self.project))
            self._print_findings(diagnostics, () if changes.is_clean else changes.all)
            if self.layout == "text":
                if changes.is_clean:
                    click.echo(written(outcome))
                else:
                    self._print_drift(changes)
            return Exit.FINE if changes.is_clean else Exit.DRIFT

        return self._guarded(work, tell)

    def _guarded(
        self,
        work: Callable[[Diagnostics, Progress], Outcome | None],
        tell: Callable[[Outcome, Diagnostics], Exit],
    ) -> Exit:
        """Do `work` and `tell` what came of it; turn each way it can fail into words and a code."""
        diagnostics = Diagnostics()
        try:
            with progress() as show:
                outcome = work(diagnostics, show)
        except EditedFiles as error:
            self._print_findings(diagnostics, error.changes.refused)
            if self.layout == "text":
                self._print_refusal(error.changes)
            return Exit.REFUSED
        except (DiskFailure, LockHeld) as error:
            return _fail(f"{error}; generated/ is as it was, or the next run repairs it")
        except SelfCheckError as error:
            return _fail(_internal(error, has_overrides=self.project.templates is not None))
        except MisplacedFolder as error:
            self._print_refused_path(diagnostics, MISPLACED, PurePosixPath(error.path.name), error.reason)
            return Exit.REFUSED
        except Exception as error:
            # They are imported with jinja2, which a run that goes well may not need.
            from toolmason.render.environment import TemplateRefusedError
            from toolmason.render.sandbox import TemplateError

            if isinstance(error, TemplateError):
                return _fail(f"{error}; nothing was written")
            if isinstance(error, TemplateRefusedError):
                self._print_refused_path(diagnostics, error.code, error.path, error.reason)
                return Exit.FINDINGS
            raise
        if outcome is None:
            self._print_findings(diagnostics)
            return Exit.FINDINGS
        return tell(outcome, diagnostics)

    def _print_refused_path(self, diagnostics: Diagnostics, code: str, path: PurePosixPath, reason: str) -> None:
        diagnostics.add(Diagnostic(code=code, message=reason, location=Location(path), hint=PATH_HINTS[code]))
        print_findings(diagnostics, self.layout)

    def _print_findings(self, diagnostics: Diagnostics, changes: Iterable[Change] = ()) -> None:
        """Print what was found; for programs with the `changes` that fail the run, since they read one document."""
        if self.layout != "text":
            for each in _as_findings(changes):
                diagnostics.add(each)
        print_findings(diagnostics, self.layout)

    def _print_drift(self, changes: Changes) -> None:
        click.echo(f"{self.project.generated.name}/ is not what {self.project.shown_manifest} gives:", err=True)
        _print_list(changes.all)
        if changes.is_interrupted:
            click.echo(f"  {INTERRUPTED} a run was ended in the middle of writing", err=True)
        self._print_diff(changes.all)
        click.echo("run: nox -s generate", err=True)
        if changes.refused:
            self._print_ways_out(changes)

    def _print_refusal(self, changes: Changes) -> None:
        click.echo(f"{self.project.generated.name}/ holds work that would be lost; nothing was written:", err=True)
        _print_list(changes.refused)
        self._print_diff(changes.refused)
        self._print_ways_out(changes)

    def _print_ways_out(self, changes: Changes) -> None:
        unlisted = [change.note == UNLISTED for change in changes.refused]
        if any(unlisted):
            click.echo(_LIST_MISSING, err=True)
        if not all(unlisted):
            click.echo(_WAYS_OUT.format(manifest=self.project.shown_manifest), err=True, nl=False)

    def _print_diff(self, changes: Iterable[Change]) -> None:
        lines = [line for change in changes for line in change.diff().splitlines()]
        shown = lines if self.show_diff else lines[:MAX_DIFF_LINES]
        # What programs read from stdout has no room for it.
        to_stderr = self.layout != "text"
        colour = wants_colour(sys.stderr if to_stderr else sys.stdout)
        for line in shown:
            click.echo(_painted(line, colour=colour), err=to_stderr, color=True)
        if len(shown) < len(lines):
            click.echo(f"... and {len(lines) - len(shown):,} lines more; --diff shows them", err=True)


def written(outcome: Outcome) -> str:
    """Say in one line how many files were written, removed and left: `generated/: 3 written, 41 unchanged`."""
    count = Counter(change.kind for change in outcome.changes.all)
    removed = count[ChangeKind.PRUNED]
    fresh = sum(change.wanted is not None for change in outcome.changes.all)
    discarded = sum(change.wanted is None and change.kind is ChangeKind.EDITED for change in outcome.changes.all)
    removed += discarded
    if not fresh and not removed:
        return f"generated/ is up to date ({_files(outcome.total)})"
    parts = [(fresh, "written"), (removed, "removed"), (outcome.total - fresh, "unchanged")]
    return "generated/: " + ", ".join(f"{number} {word}" for number, word in parts if number)


def _files(number: int) -> str:
    return f"{number} file" if number == 1 else f"{number} files"


def _print_list(changes: Iterable[Change]) -> None:
    lines = list(_listed(changes))
    for line in lines[:MAX_SHOWN]:
        click.echo(line, err=True)
    if len(lines) > MAX_SHOWN:
        click.echo(f"  ... and {len(lines) - MAX_SHOWN:,} more", err=True)


def _listed(changes: Iterable[Change]) -> Iterator[str]:
    width = max(len(word) for _code, word in CODES.values())
    for change in changes:
        if change.kind in CODES:
            code, word = CODES[change.kind]
            note = f" ({change.note})" if change.note else ""
            yield f"  {code} {word:{width}}  {change.path}{note}"


def _as_findings(changes: Iterable[Change]) -> Iterator[Diagnostic]:
    for change in changes:
        if change.kind in CODES:
            code, word = CODES[change.kind]
            hint = "run: nox -s generate"
            if change.note == UNLISTED:
                hint = _LIST_MISSING
            elif change.kind in REFUSED:
                hint = "move the edit to the manifest, a template or a handler; or generate with --discard-edits"
            path = PurePosixPath("generated") / change.path
            note = f": {change.note}" if change.note else ""
            yield Diagnostic(code=code, message=f"{word}{note}", location=Location(path), hint=hint)


def _interrupted(project: Project) -> Diagnostic:
    hint = "run: nox -s generate, which first finishes what was begun"
    place = Location(PurePosixPath(project.generated.name))
    return Diagnostic(code=INTERRUPTED, message="a run was ended in the middle of writing", location=place, hint=hint)


def _painted(line: str, *, colour: bool) -> str:
    if line.startswith(("+++", "---")):
        return paint(line, "bold", colour=colour)
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return paint(line, style, colour=colour) if style else line


def _internal(error: SelfCheckError, *, has_overrides: bool) -> str:
    faults = "\n".join(f"  generated/{fault}" for fault in error.faults)
    if has_overrides:
        return f"what your templates give does not parse; nothing was written\n{faults}"
    whose = "toolmason is wrong here, not your manifest"
    return f"internal error: what was rendered does not parse; nothing was written\n{faults}\n{whose}"


def _fail(text: str) -> Exit:
    click.echo(f"toolmason: {text}", err=True)
    return Exit.FINDINGS
