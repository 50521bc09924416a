"""The report's figures, each drawn for light and for dark paper, as SVG data URIs."""

import base64
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from softmargin.displays import (
    BLUE,
    GREY,
    ORANGE,
    CoverageDisplay,
    EvidenceSurfaceDisplay,
    IntervalDisplay,
    MarginDisplay,
    SearchPathDisplay,
    label,
)
from softmargin.experiment import (
    OURS,
    THEIRS,
    ColumnImportance,
    Experiment,
    effects,
    event_of,
    kernels_of,
    rankings,
    reliability,
    support_count,
)
from softmargin.report.curves import draw_precision, draw_roc
from softmargin.report.effects import MOST, draw_importances, effect_drawers
from softmargin.report.terminal import baseline_name

SURFACE_ROWS = 500
"""Above so many training rows the surface would take longer than the fit."""
SIZE, WIDE = (4.8, 3.4), (5.0, 2.8)
"""Inches; at this width the text is readable on a phone."""
PAPER = {"light": ("#ffffff", "#1d2433"), "dark": ("#171c28", "#dfe4ee")}
"""Background and ink."""


@dataclass(frozen=True)
class Panel:
    """One image, as data URIs."""

    light: str
    dark: str


@dataclass(frozen=True)
class Picture:
    """One figure of the report: panels beside each other, below each other on a phone."""

    title: str
    words: str
    """What to see in it."""
    panels: tuple[Panel, ...]
    wide: bool = False


def pictures(experiment: Experiment, importances: list[ColumnImportance]) -> list[Picture]:
    """Draw every figure that applies, in an order that fills two columns."""
    columns, curves = _importance(importances), _effects(experiment, importances)
    if experiment.regression:
        drawers = [_intervals, _coverage, _residuals, _surface, _search]
    else:
        drawers = [_reliability, _curves, _margins, _surface, _search]
    first, second, *others = [draw(experiment) for draw in drawers]
    if experiment.regression:
        drawn = [first, columns, second, curves, *others]
    else:
        margins, *others = others
        drawn = [first, second, columns, margins, curves, *others]
    return _filled([picture for picture in drawn if picture is not None])


def _filled(drawn: list[Picture]) -> list[Picture]:
    """The same without a hole in two columns: of an odd number of narrow pictures the last one is wide."""
    narrow = [k for k, picture in enumerate(drawn) if not picture.wide]
    if len(narrow) % 2:
        drawn[narrow[-1]] = replace(drawn[narrow[-1]], wide=True)
    return drawn


def _render(size: tuple[float, float], draw: Callable[[Any], object]) -> Panel:
    """Draw on fresh axes, once for each kind of paper."""
    uris = []
    for paper, ink in PAPER.values():
        style: dict[Any, Any] = {
            "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper, "text.color": ink,
            "axes.labelcolor": ink, "axes.edgecolor": GREY, "xtick.color": ink, "ytick.color": ink, "font.size": 11,
            "svg.hashsalt": "softmargin", "axes.spines.top": False, "axes.spines.right": False,
        }  # fmt: skip
        with matplotlib.rc_context(style), warnings.catch_warnings():
            # A glyph that the font lacks becomes a box.
            warnings.simplefilter("ignore")
            figure = Figure(figsize=size, layout="constrained")
            draw(figure.subplots())
            buffer = io.BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        uris.append("data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii"))
    return Panel(*uris)


def _importance(importances: list[ColumnImportance]) -> Picture | None:
    if len(importances) < 2:
        return None
    size = (SIZE[0], max(SIZE[1], 1.2 + 0.26 * min(len(importances), MOST)))
    return Picture(
        "Which columns matter",
        "How much the prediction changes along each column, in units of its own spread, over the training rows.",
        (_render(size, partial(draw_importances, importances=importances)),),
    )


def _effects(experiment: Experiment, importances: list[ColumnImportance]) -> Picture | None:
    found = effects(experiment, importances)
    if not found:
        return None
    band = " The band holds 90 % of the posterior." if found[0].bands else ""
    return Picture(
        "What they do",
        f"The average prediction when one column is set to each value and the others stay as they are.{band}",
        tuple(_render((4.4, 3.0), draw) for draw in effect_drawers(experiment, found)),
        wide=True,
    )


def _reliability(experiment: Experiment) -> Picture | None:
    if not experiment.predictions:
        return None
    names = {OURS: "softmargin", THEIRS: baseline_name(False)}
    classes = experiment.model.classes_
    what = f"probability of {label(classes[1])}" if len(classes) == 2 else "probability of the predicted class"

    def draw(ax: Any, name: str, colour: str) -> None:
        bins = reliability(*event_of(experiment.predictions[name], experiment.truth))
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        ax.fill_between(bins.said, bins.lower, bins.upper, color=colour, alpha=0.2, linewidth=0)
        ax.plot(bins.said, bins.seen, "o-", color=colour, markersize=4)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=f"said: {what}", ylabel="seen: share of rows")
        error = experiment.scores[name]["calibration_error"]
        ax.set_title(f"{names[name]}\ncalibration error {error:.3f}", fontsize=11)

    colours = dict(zip((OURS, THEIRS), (BLUE, ORANGE)))
    return Picture(
        "Can the probabilities be believed?",
        f"The {len(experiment.test)} held-out rows in ten groups of equal size. Points on the diagonal: what was said "
        "came true. The band is the 95 % confidence interval of what was seen.",
        tuple(_render((4.4, 4.6), partial(draw, name=n, colour=colours[n])) for n in experiment.predictions),
        wide=len(experiment.predictions) > 1,
    )


def _curves(experiment: Experiment) -> Picture | None:
    found = rankings(experiment)
    if not found:
        return None
    classes, size = experiment.model.classes_, (4.6, 4.0 + 0.2 * len(found))
    if len(classes) == 2:
        names = {OURS: "softmargin", THEIRS: baseline_name(False)}
        found = {names[name]: ranking for name, ranking in found.items()}
        what = f"the class {label(classes[1])}"
    else:
        few = "" if len(found) == len(classes) else f" of the {len(found)} most frequent classes"
        what = f"each class against the others{few}"
    return Picture(
        "How well are the classes told apart?",
        f"From the surest row to the least sure one, for {what}: how much of it is found, at the price of how many "
        "false alarms. Bands hold 95 % of the curves of resampled held-out rows; dotted lines know nothing.",
        tuple(_render(size, partial(draw, found=found)) for draw in (draw_roc, draw_precision)),
        wide=True,
    )


def _margins(experiment: Experiment) -> Picture | None:
    if support_count(experiment.model) is None:
        return None
    more = " Shown for the first pair of classes." if len(kernels_of(experiment.model)) > 1 else ""
    return Picture(
        "Support vectors and margins",
        "Distance of each training row from the boundary, on the machine's own scale. Rows below 0 are on the wrong "
        f"side; rows beyond 1 do not influence the boundary.{more}",
        (_render(SIZE, lambda ax: MarginDisplay.from_estimator(experiment.model, ax=ax)),),
    )


def _search(experiment: Experiment) -> Picture | None:
    if not experiment.model.search_path_:
        return None
    return Picture(
        "The search",
        "What the search improved, evaluation by evaluation; each colour is one stage. No row was left out for it.",
        (_render(WIDE, lambda ax: SearchPathDisplay.from_estimator(experiment.model, ax=ax)),),
        wide=True,
    )


def _surface(experiment: Experiment) -> Picture | None:
    model = experiment.model
    n = len(experiment.train)
    if n > SURFACE_ROWS or model.inference_ not in ("ep", "laplace", "variational"):
        return None
    criteria = ["evidence"] if experiment.regression else ["evidence", _deciding(model)]
    try:
        surfaces = [_computed(model, criterion, 11 if n <= 250 else 9) for criterion in criteria]
    except ValueError:
        # The kernel has no amplitude.
        return None
    chosen = " The second panel shows what the learnt point was chosen by, beside the hyperprior."
    more = "" if experiment.regression else chosen
    return Picture(
        "The landscape around the optimum",
        f"How good each pair of C and amplitude looks with everything else as learnt, brighter is better.{more}",
        tuple(_render((4.8, 3.8), surface.plot) for surface in surfaces),
        wide=len(surfaces) > 1,
    )


def _deciding(model: Any) -> str:
    """The criterion that the default policy learnt C by: that of the model it kept (of the first pair)."""
    likelihood = model.likelihood_[0] if isinstance(model.likelihood_, list) else model.likelihood_
    return "link_evidence" if likelihood.is_normalised else "loo"


def _computed(model: Any, criterion: str, resolution: int) -> EvidenceSurfaceDisplay:
    """The surface's numbers, computed once and drawn for both kinds of paper."""
    surface = EvidenceSurfaceDisplay.from_estimator(
        model, criterion=criterion, resolution=resolution, ax=Figure().subplots()
    )
    names = {"loo": "leave-one-out log probability", "link_evidence": "link evidence"}
    return replace(surface, name=names.get(criterion, surface.name))


def _intervals(experiment: Experiment) -> Picture | None:
    if not experiment.predictions:
        return None
    ours, truth, table = experiment.predictions[OURS], experiment.truth, experiment.table
    x = table.X.iloc[experiment.test, 0].to_numpy() if len(table.numeric) == 1 == table.X.shape[1] else None
    display = IntervalDisplay(x, ours.mean, ours.lower, ours.upper, truth)
    if x is not None:
        display.name = label(table.numeric[0])

    def draw(ax: Any) -> None:
        display.plot(ax)
        ax.set_ylabel(label(table.y.name))

    return Picture(
        "Predictions with intervals",
        f"The {len(truth)} held-out rows. Of one hundred true values about 95 should lie in the band.",
        (_render(WIDE, draw),),
        wide=True,
    )


def _coverage(experiment: Experiment) -> Picture | None:
    if not experiment.predictions:
        return None
    names = {OURS: ("softmargin", BLUE), THEIRS: (baseline_name(True), ORANGE)}

    def draw(ax: Any) -> None:
        for key, forecast in experiment.predictions.items():
            name, colour = names[key]
            CoverageDisplay.from_predictions(forecast.rank, ax=ax, name=name, color=colour)

    return Picture(
        "Do the intervals hold what they promise?",
        "Share of held-out values inside the interval, for every probability. Above the diagonal the intervals are too "
        "wide, below too narrow. The baseline's come from the spread of its cross-validated residuals.",
        (_render(SIZE, draw),),
    )


def _residuals(experiment: Experiment) -> Picture | None:
    if not experiment.predictions:
        return None
    ours, truth = experiment.predictions[OURS], experiment.truth

    def draw(ax: Any) -> None:
        ax.axhline(0, color=GREY, linewidth=1)
        ax.plot(ours.mean, truth - ours.mean, ".", color=BLUE)
        ax.set(xlabel="predicted", ylabel="true minus predicted")

    return Picture("Residuals", "A pattern here means that something is left to learn.", (_render(SIZE, draw),))
