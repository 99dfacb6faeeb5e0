"""The figures of a report, drawn by matplotlib (extra `experepair[bench]`), which is loaded only here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.bench.metrics.measures import Measures
from experepair.bench.metrics.statistics import estimate
from experepair.bench.report import published
from experepair.bench.report.collect import Collected, Measured
from experepair.bench.report.tables import Table, average, model_of
from experepair.errors import OutputError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS = ("png", "svg")
_MOST_BARS = 30
_OURS, _THEIRS = "#2b6cb0", "#a0aec0"


def intersections(sets: Mapping[str, frozenset[str]]) -> list[tuple[tuple[str, ...], int]]:
    """How many issues are resolved by exactly these and no others, most first."""
    every = frozenset().union(*sets.values()) if sets else frozenset[str]()
    found = Counter(tuple(name for name, ids in sets.items() if issue in ids) for issue in every)
    return sorted(found.items(), key=lambda item: (-item[1], -len(item[0]), item[0]))


def resolved_sets(found: Collected, baselines: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Resolved issues by method: those of the baselines only as far as they are of this campaign."""
    own = frozenset(found.campaign.instances)
    sets = {
        one.name: frozenset(each.instance_id for each in one.repairs if each.resolved)
        for one in found.variants
    }
    return {**sets, **{name: ids & own for name, ids in baselines.items()}}


def overlap(found: Collected, baselines: Mapping[str, frozenset[str]]) -> Table:
    """The numbers of Figure 2."""
    sets = resolved_sets(found, baselines)
    title = (
        "Figure 2: which issues each resolves"
        if baselines
        else "Our own variants: which issues each resolves"
    )
    rows = [(" & ".join(names), str(count)) for names, count in intersections(sets)]
    return Table("figure2", title, ("resolved by exactly", "issues"), tuple(rows))


def models(found: Collected) -> Table:
    """The numbers of Figure 3."""
    theirs = [(name, f"{value:.1f}", "", "", "published") for name, value in published.FIGURE_3.items()]
    ours = []
    for one in found.variants:
        share = average(one.repairs, lambda each: each.resolved)
        if share.value is not None:
            numbers = (f"{100 * value:.1f}" for value in (share.value, share.low, share.high))
            ours.append((f"{one.name} ({model_of(found, one)})", *numbers, "measured"))
    return Table(
        "figure3",
        "Figure 3: resolved by model",
        ("model", "resolved (%)", "low", "high", "source"),
        (*theirs, *ours),
    )


def learning(one: Measured) -> list[tuple[int, float, float]]:
    """Of the first n issues: n, the share that is resolved (or repaired, when nobody has judged), and calls an issue."""
    good = [float(_good(each)) for each in one.repairs]
    calls = [float(each.calls) for each in one.repairs]
    return [
        (number, right / number, asked / number)
        for number, (right, asked) in enumerate(zip(accumulate(good), accumulate(calls), strict=True), 1)
    ]


def curves(found: Collected) -> Table:
    """The numbers of the learning curve."""
    rows = [
        (one.name, str(number), f"{100 * share:.1f}", f"{calls:.1f}")
        for one in found.variants
        for number, share, calls in learning(one)
    ]
    judged = all(each.resolved is not None for one in found.variants for each in one.repairs)
    what = "resolved (%)" if judged else "repaired by its own account (%)"
    return Table(
        "learning",
        "Learning curve: over the first issues in time",
        ("variant", "issues seen", what, "calls an issue"),
        tuple(rows),
    )


def draw(found: Collected, baselines: Mapping[str, frozenset[str]], out: Path) -> list[str]:
    """Draw all figures as PNG and SVG.

    Returns:
        Their names, in order.

    Raises:
        UsageError: matplotlib isn't installed.
        OutputError: a file can't be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            "figures need matplotlib: pip install 'experepair[bench]'; or give --no-figures"
        ) from error
    drawn = {
        "figure2": _upset(
            Figure(figsize=(9, 5)), resolved_sets(found, baselines), overlap(found, baselines).title
        ),
        "figure3": _bars(Figure(figsize=(7, 4)), models(found)),
        "learning": _curves(Figure(figsize=(9, 4)), found),
        "stages": _stages(Figure(figsize=(7, 4)), found.variants),
    }
    try:
        for name, figure in drawn.items():
            for kind in _FORMATS:
                figure.savefig(out / f"{name}.{kind}", dpi=150, bbox_inches="tight", metadata=_undated(kind))
    except OSError as error:
        raise OutputError(f"can't write the figures into {str(out)!r}: {error}") from error
    return list(drawn)


def _undated(kind: str) -> dict[str, None] | None:
    """The same figure is the same file."""
    return {"Date": None} if kind == "svg" else None


def _upset(figure: Figure, sets: Mapping[str, frozenset[str]], title: str) -> Figure:
    """Bars of intersections above, dots that say of what, sizes of the sets at the left."""
    shown = intersections(sets)[:_MOST_BARS]
    names = sorted(sets, key=lambda name: len(sets[name]))
    grid = figure.add_gridspec(2, 2, height_ratios=(2, 1), width_ratios=(1, 3), hspace=0.05, wspace=0.6)
    bars, sizes = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 0])
    dots = figure.add_subplot(grid[1, 1], sharex=bars)
    places = range(len(shown))
    bars.bar(places, [count for _, count in shown], color=_OURS)
    for place, (_, count) in zip(places, shown, strict=True):
        bars.text(place, count, str(count), ha="center", va="bottom", fontsize=8)
    bars.set_xticks([])
    bars.set_ylabel("issues")
    bars.set_title(title)
    for place, (members, _) in zip(places, shown, strict=True):
        rows = [names.index(name) for name in members]
        dots.scatter([place] * len(names), range(len(names)), color="#e2e8f0", s=40)
        dots.scatter([place] * len(rows), rows, color="#1a202c", s=40)
        dots.plot([place, place], [min(rows), max(rows)], color="#1a202c")
    dots.set_xlim(-0.5, max(len(shown) - 0.5, 0.5))
    dots.set_yticks(range(len(names)), names)
    dots.set_xticks([])
    sizes.barh(range(len(names)), [len(sets[name]) for name in names], color=_THEIRS)
    sizes.invert_xaxis()
    sizes.set_yticks([])
    sizes.set_xlabel("resolved")
    _bare(bars)
    _bare(dots)
    _bare(sizes)
    return figure


def _bars(figure: Figure, table: Table) -> Figure:
    axes = figure.add_subplot()
    for place, (_, value, low, high, source) in enumerate(table.rows):
        error = [[float(value) - float(low)], [float(high) - float(value)]] if low else None
        axes.bar(place, float(value), yerr=error, color=_OURS if source == "measured" else _THEIRS, capsize=4)
        axes.text(place, float(value), f" {value}", ha="left" if error else "center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(table.rows)), [row[0] for row in table.rows], rotation=20, ha="right")
    axes.set_ylabel("resolved (%)")
    axes.set_title(f"{table.title} (grey: published, blue: measured)")
    _bare(axes)
    return figure


def _curves(figure: Figure, found: Collected) -> Figure:
    left, right = figure.subplots(1, 2)
    for one in found.variants:
        points = learning(one)
        seen = [number for number, *_ in points]
        left.plot(seen, [100 * share for _, share, _ in points], label=one.name)
        right.plot(seen, [calls for *_, calls in points], label=one.name)
    left.set_ylabel(curves(found).header[2])
    right.set_ylabel("calls an issue")
    for axes in (left, right):
        axes.set_xlabel("issues seen")
        _bare(axes)
    left.legend(frameon=False)
    return figure


def _stages(figure: Figure, measured: Sequence[Measured]) -> Figure:
    """Tokens by role: costs aren't always known."""
    axes = figure.add_subplot()
    roles = sorted({role for one in measured for each in one.repairs for role in each.stages})
    below = [0.0] * len(measured)
    for role in roles:
        heights = [
            estimate([float(each.stages.get(role, (0, 0, 0))[1]) for each in one.repairs]).value or 0.0
            for one in measured
        ]
        axes.bar(range(len(measured)), heights, bottom=below, label=role)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set_xticks(range(len(measured)), [one.name for one in measured], rotation=20, ha="right")
    axes.set_ylabel("tokens of a repair")
    axes.set_title("Where the tokens go")
    axes.legend(frameon=False, fontsize=8)
    _bare(axes)
    return figure


def _bare(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _good(one: Measures) -> bool:
    return one.status == "repaired" if one.resolved is None else one.resolved
