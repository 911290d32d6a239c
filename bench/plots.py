"""Plots of a run as SVG, each with a text that has its numbers. The same results give the same bytes.

Readable on light and dark pages: the background is transparent, and a style sheet changes the colors.
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
from bench.contestants import BARE, FASTMCP, OURS, OURS_DEFAULT, OURS_SDK, TYPESCRIPT
from bench.generating import ALONE, Generation
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
_DARK: Final = {_INK: "#e6edf3", _GRID: "#3d444d", _OURS: "#58a6ff"}
"""Colors on a dark page."""
_LINES: Final = (_OURS, "#bf5b04", "#2da44e", "#8250df", "#cf222e", "#57808b", _INK)
_MARKERS: Final = "osD^vPX"
_WIDTH: Final = 8.0
_PLAIN: Final = FuncFormatter(lambda value, _: f"{value:,g}")
_STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "toolmason",
    "svg.fonttype": "none",
    "figure.facecolor": "none",
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
        if findings.generations:
            yield _generation(findings.generations[-1])
        if findings.scale is not None:
            yield _scale(findings.scale)


def _start(starts: Starts, idle: Mapping[tuple[str, int], tuple[float | None, float]]) -> Plot:
    size = starts.sizes[-1]
    labels = [label for label in starts.labels if (label, size) in idle]
    times = [typical(starts.costs(label, size)).wall * 1000 for label in labels]
    memory = [idle[label, size][0] or 0.0 for label in labels]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(labels)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _bars(left, labels, times, "milliseconds to the first tools/list")
    _bars(right, labels, memory, "MiB, five seconds after the start")
    return _plot(
        "start",
        figure,
        f"Start and memory of servers with {size:,} tools: "
        + "; ".join(
            f"{label} {time:,.0f} ms, {used:,.0f} MiB" for label, time, used in zip(labels, times, memory, strict=True)
        ),
    )


def _calls(calls: Calls) -> Plot:
    labels = [label for label in (BARE, FASTMCP, TYPESCRIPT, OURS_SDK, OURS, OURS_DEFAULT) if label in calls.pipelined]
    speeds = [1 / typical(calls.pipelined[label]).wall for label in labels]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(labels)), layout="constrained")
    _bars(figure.subplots(), labels, speeds, "calls per second over stdio, many in flight")
    return _plot(
        "calls", figure, f"Calls per second over stdio: {_listed(labels, [f'{speed:,.0f}' for speed in speeds])}"
    )


def _http(results: Sequence[HttpCalls]) -> Plot:
    eras = list(dict.fromkeys(result.era for result in results))
    figure = Figure(figsize=(_WIDTH, 3), layout="constrained")
    for axes, era in zip(figure.subplots(1, len(eras), sharey=True, squeeze=False)[0], eras, strict=True):
        shown = [result for result in results if result.era == era]
        for offset, label, color, costs in (
            (-0.2, "toolmason", _OURS, [result.ours for result in shown]),
            (0.2, BARE, _OTHER, [result.bare for result in shown]),
        ):
            places = [place + offset for place in range(len(shown))]
            bars = axes.bar(places, [1 / cost.wall for cost in costs], width=0.38, color=color, label=label)
            axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=8)
        axes.set_xticks(range(len(shown)), [str(result.clients) for result in shown])
        axes.set_xlabel("clients")
        axes.set_title(f"revision {era}", loc="left")
        axes.grid(axis="y")
        axes.margins(y=0.12)
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.tick_params(length=0)
    figure.axes[0].set_ylabel("calls per second")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
    texts = (
        f"revision {result.era}, {result.clients} clients: toolmason {1 / result.ours.wall:,.0f},"
        f" {BARE} {1 / result.bare.wall:,.0f}"
        for result in results
    )
    return _plot("http", figure, "Calls per second over HTTP: " + "; ".join(texts))


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
    figure = Figure(figsize=(_WIDTH, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
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
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8)
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
