"""Run `generate` or `check` for the command line: print the result and return the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Final

import click
from toolmason_runtime.shared.checksum import CHECKSUM_FILE

from toolmason import pipeline
from toolmason.commands.options import ExitCode, print_findings
from toolmason.diagnostics import Diagnostic, Diagnostics, Location, Severity
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.diagnostics.terminal import Layout, Progress, progress, supports_colour
from toolmason.pipeline import Examine, GenerateResult
from toolmason.project import Project
from toolmason.render.self_check import SelfCheckError
from toolmason.time_limit import DEFAULT_S, VARIABLE, TimeLimitError, limited_time
from toolmason.write import EditedFilesError, LockTimeoutError
from toolmason.write.changes import BLOCKING_KINDS, Change, ChangeKind, Changes
from toolmason.write.compare import CHECKSUMS_MISSING
from toolmason.write.diff import paint_line
from toolmason.write.record_clean_run import store_clean_run
from toolmason.write.snapshot import FileSystemError, MisplacedDirectoryError

MAX_DIFF_LINES: Final = 60
"""Maximum lines of a diff without `--diff`."""

CODES: Final = {
    ChangeKind.CREATED: ("TM601", "missing"),
    ChangeKind.CHANGED: ("TM602", "stale"),
    ChangeKind.PRUNED: ("TM603", "extra"),
    ChangeKind.EDITED: ("TM604", "edited"),
    ChangeKind.BLOCKED: ("TM605", "in the way"),
}
"""Code and label of each kind of difference that fails a run. Foreign files do not."""

INTERRUPTED: Final = "TM606"
"""Code of an interrupted run."""
_INTERRUPTED_MESSAGE: Final = "an earlier run was interrupted while writing"

MISPLACED: Final = "TM607"
"""Code of a generated directory or lock file that is a link."""

STALE_POSTINGS: Final = "TM527"
"""Code of a tool that `semantic.postings` does not have as it is."""
_POSTINGS_HINT: Final = (
    '{name} is out of date with the manifest; run: toolmason embed, or set `[discovery] semantic = "words"`'
)

TIME_LIMIT: Final = "TM616"
"""Code of a run that takes too long."""
_TIME_LIMIT_HINT: Final = f"make the manifest smaller, or give more time with `--time-limit` or {VARIABLE}"

PATH_HINTS: Final = {
    MISPLACED: "remove it: nothing is read or written through a link",
    "TM608": "copy the file into the project",
    "TM609": "look for an endless loop in it and in the templates that it includes",
}
"""Hints for rejected paths."""

_WITHOUT_HANDLERS: Final = "Only models and contracts were updated."
"""What a run has written without all functions of the handlers."""
_RESTORE_LIST: Final = (
    f"restore {CHECKSUM_FILE}, the list of hashes, from version control; or generate with --discard-edits"
)
_EDIT_ALTERNATIVES: Final = """\
To keep the edit, make it elsewhere:
  contents   edit {manifest}
  layout     change a template: toolmason templates eject NAME
  behaviour  change a handler
To discard it: toolmason generate --discard-edits
"""


@dataclass(frozen=True, slots=True)
class Run:
    """The options of a run. Results are printed to stdout, findings and failures to stderr."""

    project: Project
    layout: Layout
    only: str | None
    show_diff: bool = False
    time_limit_s: float = DEFAULT_S
    """Seconds until the run stops; 0 is no limit."""

    def generate(self, *, discard_edits: bool = False) -> ExitCode:
        """Write `generated/` and print a summary."""

        def task(diagnostics: Diagnostics, show: Progress) -> GenerateResult | None:
            return pipeline.generate(
                self.project,
                diagnostics=diagnostics,
                only=self.only,
                discard_edits=discard_edits,
                progress=show,
                examine=self._guard(Severity.WARNING),
            )

        def print_result(outcome: GenerateResult, diagnostics: Diagnostics) -> ExitCode:
            self._store_if_clean(outcome, diagnostics)
            outcome_text = "" if outcome.has_all_functions else _WITHOUT_HANDLERS
            self._print_findings(diagnostics, outcome=outcome_text)
            if self.show_diff:
                self._print_diff(outcome.changes.all)
            if not outcome.has_all_functions:
                return ExitCode.FINDINGS
            if self.layout == "text":
                click.echo(summarize(outcome))
                if outcome.has_new_postings:
                    click.echo(f"{self.project.postings.name}: the tools that have changed were embedded")
            return ExitCode.FINE

        return self._run_and_report(task, print_result)

    def check(self) -> ExitCode:
        """Compare `generated/` and print the differences."""

        def task(diagnostics: Diagnostics, show: Progress) -> GenerateResult | None:
            return pipeline.compare(
                self.project,
                diagnostics=diagnostics,
                only=self.only,
                progress=show,
                examine=self._guard(Severity.ERROR),
            )

        def print_result(outcome: GenerateResult, diagnostics: Diagnostics) -> ExitCode:
            self._store_if_clean(outcome, diagnostics)
            changes = outcome.changes
            if changes.is_interrupted and self.layout != "text":
                diagnostics.add(_interrupted(self.project))
            self._print_findings(diagnostics, () if changes.is_clean else changes.all)
            is_stale = any(diagnostic.code == STALE_POSTINGS for diagnostic in diagnostics)
            if self.layout == "text":
                if not changes.is_clean:
                    self._print_drift(changes)
                elif not is_stale:
                    click.echo(summarize(outcome))
            if is_stale:
                click.echo(_POSTINGS_HINT.format(name=self.project.postings.name), err=True)
            return ExitCode.DRIFT if is_stale or not changes.is_clean else ExitCode.FINE

        return self._run_and_report(task, print_result)

    def _store_if_clean(self, outcome: GenerateResult, diagnostics: Diagnostics) -> None:
        if self.only is None and outcome.changes.is_clean and outcome.has_all_functions and not len(diagnostics):
            store_clean_run(self.project, f"{summarize(outcome)}\n")

    def _guard(self, level: Severity) -> Examine | None:
        """Return what compares the manifest with the contract of the published version; None if none is recorded."""
        if not os.path.lexists(self.project.contract_lock):
            return None
        from toolmason.diff.lock import check_released

        return partial(check_released, self.project, level=level)

    def _run_and_report(
        self,
        task: Callable[[Diagnostics, Progress], GenerateResult | None],
        print_result: Callable[[GenerateResult, Diagnostics], ExitCode],
    ) -> ExitCode:
        """Run `task` and print its result, or its error; return the exit code."""
        diagnostics = Diagnostics()
        try:
            with limited_time(self.time_limit_s) as limit, progress() as show:

                def enter(stage: str) -> None:
                    limit.enter(stage)
                    show(stage)

                outcome = task(diagnostics, enter)
        except TimeLimitError as error:
            report_time_limit(error, self.project, diagnostics)
            print_findings(diagnostics, self.layout)
            return ExitCode.FINDINGS
        except EditedFilesError as error:
            self._print_findings(diagnostics, error.changes.blocking)
            if self.layout == "text":
                self._print_refusal(error.changes)
            return ExitCode.REFUSED
        except (FileSystemError, LockTimeoutError) as error:
            return _fail(f"{error}; generated/ is unchanged, or the next run repairs it")
        except SelfCheckError as error:
            return _fail(_format_self_check(error, has_overrides=self.project.templates is not None))
        except MisplacedDirectoryError as error:
            self._report_path(diagnostics, MISPLACED, PurePosixPath(error.path.name), error.reason)
            return ExitCode.REFUSED
        except OSError as error:  # Of temporary files or the formatter.
            return _fail(f"{error}; nothing was written")
        except Exception as error:
            # Imported here, with jinja2: a run without changes needs neither.
            from toolmason.render.environment import TemplateRefusedError
            from toolmason.render.sandbox import TemplateError

            if isinstance(error, TemplateError):
                return _fail(f"{error}; nothing was written")
            if isinstance(error, TemplateRefusedError):
                self._report_path(diagnostics, error.code, error.path, error.reason)
                return ExitCode.FINDINGS
            raise
        if outcome is None:
            self._print_findings(diagnostics)
            return ExitCode.FINDINGS
        return print_result(outcome, diagnostics)

    def _report_path(self, diagnostics: Diagnostics, code: str, path: PurePosixPath, reason: str) -> None:
        diagnostics.add(Diagnostic(code=code, message=reason, location=Location(path), hint=PATH_HINTS[code]))
        print_findings(diagnostics, self.layout)

    def _print_findings(self, diagnostics: Diagnostics, changes: Iterable[Change] = (), *, outcome: str = "") -> None:
        """Print the findings; in formats for programs, which are one document, together with the `changes`."""
        if self.layout != "text":
            for diagnostic in _as_findings(changes):
                diagnostics.add(diagnostic)
        print_findings(diagnostics, self.layout, outcome=outcome)

    def _print_drift(self, changes: Changes) -> None:
        click.echo(f"{self.project.generated.name}/ is out of date with {self.project.shown_manifest}:", err=True)
        _print_list(changes.all)
        if changes.is_interrupted:
            click.echo(f"  {INTERRUPTED} {_INTERRUPTED_MESSAGE}", err=True)
        self._print_diff(changes.all)
        click.echo("run: nox -s generate", err=True)
        if changes.blocking:
            self._print_alternatives(changes)

    def _print_refusal(self, changes: Changes) -> None:
        click.echo(
            f"{self.project.generated.name}/ contains work that would be overwritten; nothing was written:", err=True
        )
        _print_list(changes.blocking)
        self._print_diff(changes.blocking)
        self._print_alternatives(changes)

    def _print_alternatives(self, changes: Changes) -> None:
        is_list_missing = [change.note == CHECKSUMS_MISSING for change in changes.blocking]
        if any(is_list_missing):
            click.echo(_RESTORE_LIST, err=True)
        if not all(is_list_missing):
            click.echo(_EDIT_ALTERNATIVES.format(manifest=self.project.shown_manifest), err=True, nl=False)

    def _print_diff(self, changes: Iterable[Change]) -> None:
        lines = [line for change in changes for line in change.diff().splitlines()]
        shown = lines if self.show_diff else lines[:MAX_DIFF_LINES]
        # In other formats, stdout is a document for programs.
        to_stderr = self.layout != "text"
        colour = supports_colour(sys.stderr if to_stderr else sys.stdout)
        for line in shown:
            click.echo(paint_line(line, colour=colour), err=to_stderr, color=True)
        if len(shown) < len(lines):
            click.echo(f"... and {len(lines) - len(shown):,} more lines; use --diff to show them", err=True)


def report_time_limit(error: TimeLimitError, project: Project, diagnostics: Diagnostics) -> None:
    """Add the diagnostic of a run that took too long, with its stage."""
    location = Location(PurePosixPath(project.shown_manifest))
    diagnostics.add(Diagnostic(code=TIME_LIMIT, message=str(error), location=location, hint=_TIME_LIMIT_HINT))


def summarize(outcome: GenerateResult) -> str:
    """Return the numbers of files as one line: `generated/: 3 written, 41 unchanged`."""
    changes = outcome.changes.all
    written = sum(change.rendered is not None for change in changes)
    removed = sum(
        change.rendered is None and change.kind in {ChangeKind.PRUNED, ChangeKind.EDITED} for change in changes
    )
    if not written and not removed:
        return f"generated/ is up to date ({outcome.total} file{'' if outcome.total == 1 else 's'})"
    parts = [(written, "written"), (removed, "removed"), (outcome.total - written, "unchanged")]
    return "generated/: " + ", ".join(f"{number} {word}" for number, word in parts if number)


def _print_list(changes: Iterable[Change]) -> None:
    lines = list(_format_changes(changes))
    for line in lines[:MAX_SHOWN]:
        click.echo(line, err=True)
    if len(lines) > MAX_SHOWN:
        click.echo(f"  ... and {len(lines) - MAX_SHOWN:,} more", err=True)


def _format_changes(changes: Iterable[Change]) -> Iterator[str]:
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
            if change.note == CHECKSUMS_MISSING:
                hint = _RESTORE_LIST
            elif change.kind in BLOCKING_KINDS:
                hint = "make the edit in the manifest, a template or a handler; or generate with --discard-edits"
            path = PurePosixPath("generated") / change.path
            note = f": {change.note}" if change.note else ""
            yield Diagnostic(code=code, message=f"{word}{note}", location=Location(path), hint=hint)


def _interrupted(project: Project) -> Diagnostic:
    hint = "run: nox -s generate, which finishes that run first"
    location = Location(PurePosixPath(project.generated.name))
    return Diagnostic(code=INTERRUPTED, message=_INTERRUPTED_MESSAGE, location=location, hint=hint)


def _format_self_check(error: SelfCheckError, *, has_overrides: bool) -> str:
    faults = "\n".join(f"  generated/{fault}" for fault in error.faults)
    if has_overrides:
        return f"the output of the project's templates does not parse; nothing was written\n{faults}"
    note = "this is a bug of toolmason, not an error in the manifest"
    return f"internal error: the output does not parse; nothing was written\n{faults}\n{note}"


def _fail(text: str) -> ExitCode:
    click.echo(f"toolmason: {text}", err=True)
    return ExitCode.FINDINGS
