"""Plots of a run as SVG, each with a text that has its numbers. The same results give the same bytes.

A style sheet changes the colors if the reader prefers dark ones. The background is part of the plot, so that it is
readable on a page whose colors differ from this preference. It is narrow, so that its text is readable on a phone.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.calling import Calls
from bench.calling_http import HttpCalls
from bench.contestants import BARE, FASTMCP, OURS, OURS_DEFAULT, OURS_SDK
from bench.generating import ALONE, Generation
from bench.large_results import LargeResult
from bench.peers import GO, TYPESCRIPT, TYPESCRIPT_1
from bench.promises import Findings
from bench.rounds import typical
from bench.scaling import Scale
from bench.starting import Starts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK: Final = "#1f2328"
_GRID: Final = "#d1d9e0"
_OURS: Final = "#0969da"
_OTHER: Final = "#8b949e"
_PAPER: Final = "#ffffff"
_DARK: Final = {_INK: "#e6edf3", _GRID: "#3d444d", _OURS: "#58a6ff", _PAPER: "#1e2129"}
"""Colors for readers who prefer dark pages."""
_LINES: Final = (_OURS, "#bf5b04", "#2da44e", "#8250df", "#cf222e", "#57808b", _INK, "#bf8700", "#c2478f")
_MARKERS: Final = "osD^vPX<*"
_WIDTH: Final = 5.2
_PLAIN: Final = FuncFormatter(lambda value, _: f"{value:,g}")
_STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "toolmason",
    "svg.fonttype": "none",
    "figure.facecolor": _PAPER,
    "axes.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot: its name, its SVG, and its numbers as a text."""

    name: str
    svg: str
    text: str


def make_plots(findings: Findings) -> Iterator[Plot]:
    """Return a plot of each part that was measured."""
    with mpl.rc_context(_STYLE):
        if findings.starts is not None and findings.idle:
            yield _start(findings.starts, findings.idle)
        if findings.calls is not None:
            yield _calls(findings.calls)
        if findings.http_calls:
            yield _http(findings.http_calls)
        if findings.large_results:
            yield _results(findings.large_results)
        if findings.generations:
            yield _generation(findings.generations[-1])
        if findings.scale is not None:
            yield _scale(findings.scale)


def _start(starts: Starts, idle: Mapping[tuple[str, int], tuple[float | None, float]]) -> Plot:
    size = starts.sizes[-1]
    labels = [label for label in starts.labels if (label, size) in idle]
    times = [typical(starts.costs(label, size)).wall * 1000 for label in labels]
    memory = [idle[label, size][0] or 0.0 for label in labels]
    figure = Figure(figsize=(_WIDTH, 1.4 + 0.6 * len(labels)), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    _bars(top, labels, times, "milliseconds to the first tools/list")
    _bars(bottom, labels, memory, "MiB, five seconds after the start")
    return _plot(
        "start",
        figure,
        f"Start and memory of servers with {size:,} tools: "
        + "; ".join(
            f"{label} {time:,.0f} ms, {used:,.0f} MiB" for label, time, used in zip(labels, times, memory, strict=True)
        ),
    )


def _calls(calls: Calls) -> Plot:
    labels = [
        label
        for label in (BARE, FASTMCP, TYPESCRIPT_1, TYPESCRIPT, GO, OURS_SDK, OURS, OURS_DEFAULT)
        if label in calls.pipelined
    ]
    speeds = [1 / typical(calls.pipelined[label]).wall for label in labels]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(labels)), layout="constrained")
    _bars(figure.subplots(), labels, speeds, "calls per second over stdio, many in flight")
    return _plot(
        "calls", figure, f"Calls per second over stdio: {_listed(labels, [f'{speed:,.0f}' for speed in speeds])}"
    )


def _http(results: Sequence[HttpCalls]) -> Plot:
    eras = list(dict.fromkeys(result.era for result in results))
    labels = list(dict.fromkeys(label for result in results for label in result.costs))
    figure = Figure(figsize=(_WIDTH, 0.6 + 2.5 * len(eras)), layout="constrained")
    width = 0.84 / len(labels)
    for axes, era in zip(figure.subplots(len(eras), 1, squeeze=False)[:, 0], eras, strict=True):
        shown = [result for result in results if result.era == era]
        for number, label in enumerate(labels):
            speeds = [1 / typical(result.costs[label]).wall if label in result.costs else 0.0 for result in shown]
            places = [place + (number - (len(labels) - 1) / 2) * width for place in range(len(shown))]
            axes.bar(places, speeds, width=width * 0.92, color=_LINES[number], label=label)
        axes.set_xticks(range(len(shown)), [str(result.clients) for result in shown])
        axes.set_xlabel(f"clients, revision {era}")
        axes.set_ylabel("calls per second")
        axes.grid(axis="y")
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.tick_params(length=0)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    texts = (
        f"revision {result.era}, {result.clients} clients: "
        + ", ".join(f"{label} {1 / typical(costs).wall:,.0f}" for label, costs in result.costs.items())
        for result in results
    )
    return _plot("http", figure, "Calls per second over HTTP: " + "; ".join(texts))


def _results(results: Sequence[LargeResult]) -> Plot:
    size = max(result.megabytes for result in results)
    shown = [result for result in results if result.megabytes == size]
    labels = [result.label for result in shown]
    times, pings = [result.cost.wall * 1000 for result in shown], [result.longest_ping for result in shown]
    memory = [result.memory or 0.0 for result in shown]
    figure = Figure(figsize=(_WIDTH, 1.8 + 0.9 * len(labels)), layout="constrained")
    for axes, values, title in zip(
        figure.subplots(3, 1),
        (times, pings, memory),
        (f"milliseconds of a result of {size} MB", "milliseconds of the longest ping meanwhile", "peak MiB"),
        strict=True,
    ):
        _bars(axes, labels, values, title)
    texts = (
        f"{label} {time:,.0f} ms, longest ping {ping:,.0f} ms, peak {used:,.0f} MiB"
        for label, time, ping, used in zip(labels, times, pings, memory, strict=True)
    )
    return _plot("results", figure, f"A result of {size} MB over stdio: " + "; ".join(texts))


def _generation(generation: Generation) -> Plot:
    labels = [command for command in generation.costs if command != ALONE]
    ratios = [generation.to_alone(command).median for command in labels]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(labels)), layout="constrained")
    axes = figure.subplots()
    _bars(axes, labels, ratios, f"times the seconds of {ALONE}, {generation.size:,} tools", digits=2, ours=labels)
    axes.axvline(1, color=_INK, linewidth=1, zorder=0)
    texts = [f"{value:.2f}" for value in ratios]
    return _plot("generation", figure, f"Seconds as a multiple of {ALONE}: {_listed(labels, texts)}")


def _scale(scale: Scale) -> Plot:
    figure = Figure(figsize=(_WIDTH, 10.5), layout="constrained")
    left, right = figure.subplots(2, 1)
    times = {measure: scale.cpu_per_tool(measure) for measure in scale.costs}
    memory = {measure: scale.memory_per_tool(measure) for measure in scale.memory}
    for axes, series, label in ((left, times, "CPU milliseconds per tool"), (right, memory, "KiB per tool")):
        for (measure, values), (color, marker) in zip(series.items(), cycle(zip(_LINES, _MARKERS, strict=True))):
            axes.plot([*values], [*values.values()], color=color, marker=marker, markersize=4, label=measure)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("tools (logarithmic)")
        axes.set_ylabel(f"{label} (logarithmic)")
        axes.set_xticks(scale.sizes, [f"{size:,}" for size in scale.sizes])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(which="both", length=0)
        axes.grid(which="major")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=9)
    texts = [
        f"{measure} {' / '.join(f'{value:,.3g}' for value in values.values())} {unit}"
        for series, unit in ((times, "ms"), (memory, "KiB"))
        for measure, values in series.items()
    ]
    sizes = " / ".join(f"{size:,}" for size in scale.sizes)
    return _plot("scale", figure, f"CPU and memory per tool at {sizes} tools: {'; '.join(texts)}")


def _bars(
    axes: Axes,
    labels: Sequence[str],
    values: Sequence[float],
    title: str,
    *,
    digits: int = 0,
    ours: Sequence[str] = (OURS, OURS_DEFAULT, OURS_SDK),
) -> None:
    """Draw horizontal bars from zero, the first one at the top, with their values."""
    shown = [label.replace("`", "") for label in labels]
    bars = axes.barh(shown, values, color=[_OURS if label in ours else _OTHER for label in labels], height=0.65)
    axes.bar_label(bars, fmt=f"{{:,.{digits}f}}", padding=3)
    axes.set_xlim(0, max(values) * 1.15)
    axes.set_xlabel(title)
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def _listed(labels: Sequence[str], texts: Sequence[str]) -> str:
    return "; ".join(f"{label} {text}" for label, text in zip(labels, texts, strict=True))


def _plot(name: str, figure: Figure, text: str) -> Plot:
    written = io.StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    dark = "".join(
        f'[style*="{key}: {light}"] {{ {key}: {color} !important }}\n'
        for light, color in _DARK.items()
        for key in ("fill", "stroke")
    )
    svg = written.getvalue().replace("</style>", f"\n@media (prefers-color-scheme: dark) {{\n{dark}}}</style>", 1)
    lines = (line.rstrip() for line in svg.splitlines())
    return Plot(name, "\n".join(lines) + "\n", text.replace("`", ""))
