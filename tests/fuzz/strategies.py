"""Hypothesis strategies: what a case may be, from every registry of the library."""

from typing import Any

from hypothesis import strategies as st

from softmargin.criteria import CRITERIA
from softmargin.inference import INFERENCES
from softmargin.least_squares import LeastSquares

from .case import BALANCES, COLUMNS, CONTAINERS, COPIES, LABELS, NEW_ROWS, RELATIONS, TARGETS, WEIGHTS, Case
from .kernels import NAMED, OBJECTS, STATIONARY

EXPONENTS = (3, -3, 9, -9, 20, -20, 45, -45, 90, -90, 155, -200, 300, -300)
SAMPLED = ("hmc", "mean_field")
"""Inferences that cost too much for many rows or evaluations."""
COUNTS = ("ones", "counts", "zeros")
OF_TARGETS, UNITLESS = ("target_scale", "target_shift", "negated"), ("scale", "shift", "target_scale")
"""Relations of a regression, and relations that hold where the kernel is in units of the rows' own spread."""
FEW, SOME, MANY = 7, 14, 24
"""Rows where an evaluation is dear (sampling, quadrature), mostly, and now and then."""
MACHINE_LOSSES = {
    "svc": ("hinge", "squared_hinge", "logistic", "probit", LeastSquares.name),
    "svr": ("epsilon_insensitive", "gaussian", "gaussian", "epsilon_insensitive", "student_t"),
}


def usually(common: Any, others: Any, share: int = 3) -> st.SearchStrategy[Any]:
    """A common value, or once in `share + 1` draws another."""
    return st.integers(0, share).flatmap(lambda k: st.just(common) if k < share else st.sampled_from(others))


@st.composite
def cases(draw: st.DrawFn, estimator: str | None = None) -> Case:
    """A random case."""
    kind = draw(st.sampled_from(["svc", "svr"])) if estimator is None else estimator
    relation = draw(st.sampled_from([name for name in RELATIONS if kind == "svr" or name not in OF_TARGETS]))
    container = draw(usually("array", CONTAINERS if relation != "copies" else CONTAINERS[:-1]))
    settings = draw(_settings(kind, container, streams=relation == "stream"))
    named = list(STATIONARY if relation in UNITLESS else (*NAMED, *OBJECTS))
    chosen = dict(settings)
    few = chosen.get("inference") in SAMPLED or chosen.get("loss") == "student_t" or chosen.get("search") == "sample"
    classes = draw(usually(2, [3, 3, 5], 2)) if kind == "svc" and not few else 2
    most = FEW if few else draw(usually(SOME, [MANY], 7))
    return Case(
        estimator=kind,
        seed=draw(st.integers(0, 10**6)),
        rows=draw(st.integers(max(2, classes), most)),
        columns=tuple(draw(st.lists(usually("normal", COLUMNS, 1), min_size=1, max_size=3))),
        x_exponent=0 if relation == "shift" else draw(usually(0, EXPONENTS)),
        x_shift=0.0 if relation == "shift" else draw(usually(0.0, [-1e3, 1e6, 1e9], 5)),
        y_exponent=0 if kind == "svc" or relation == "target_shift" else draw(usually(0, EXPONENTS)),
        classes=classes,
        labels=draw(st.sampled_from(LABELS)) if kind == "svc" else "int",
        balance=draw(st.sampled_from(BALANCES)) if kind == "svc" else "even",
        target=draw(usually("function", TARGETS, 1)) if kind == "svr" else "function",
        copies=draw(usually("none", COPIES, 2)),
        weights=draw(st.sampled_from(COUNTS)) if relation == "copies" else draw(usually("none", WEIGHTS, 1)),
        container=container,
        new=draw(usually("near", NEW_ROWS, 1)),
        kernel=draw(usually("rbf", named, 1)),
        settings=settings,
        relation=relation,
    )


@st.composite
def _settings(draw: st.DrawFn, kind: str, container: str, *, streams: bool) -> tuple[tuple[str, Any], ...]:
    """Parameters that go together; now and then some that are refused."""
    if container != "precomputed" and not streams and draw(st.integers(0, 11)) == 0:
        default = (("max_iter", draw(st.integers(1, 3))),)  # and all else as it is
        return default if draw(st.booleans()) else (*default, ("stack", False))
    chosen: dict[str, Any] = {"inference": "sparse" if streams else draw(_inference(kind, container))}
    _choose(draw, chosen, "loss", MACHINE_LOSSES[kind], 1)
    if chosen.get("loss", "hinge") not in ("gaussian", "student_t"):
        _choose(draw, chosen, "C", (1.0, 1e-2, 30.0, 1e3, 1e-6, 1e6), 1)
    if chosen["inference"] in SAMPLED or draw(st.integers(0, 4)):
        chosen["search"] = None
        _choose(draw, chosen, "criterion", _criteria(kind), 7)
    else:
        _searched(draw, chosen, kind, container)
    _choose(draw, chosen, "hyperprior", (None,), 5)
    if chosen["inference"] == "sparse":
        _choose(draw, chosen, "n_inducing", (1, 3, 10, 1000), 1)
    if kind == "svc":
        _choose(draw, chosen, "multi_class", ("ovo", "ovr"), 1)
        if container == "precomputed":
            chosen["probability"] = draw(st.sampled_from(["mean", "map"]))
        elif chosen["inference"] != "sparse":
            _choose(draw, chosen, "probability", ("mean", "map"), 3)
        _choose(draw, chosen, "class_weight", ("balanced",), 4)
    else:
        if chosen.get("loss", "epsilon_insensitive") == "epsilon_insensitive":
            _choose(draw, chosen, "epsilon", (0.0, 0.1, 1e3), 3)
        _choose(draw, chosen, "center", (None,), 4)
        if container != "precomputed":
            _choose(draw, chosen, "nugget", (True, 0.1), 3)
        _choose(draw, chosen, "gross_errors", ("keep",), 3)
    return tuple(chosen.items())


def _choose(draw: st.DrawFn, chosen: dict[str, Any], name: str, values: tuple[Any, ...], share: int) -> None:
    """Set a parameter once in `share + 1` draws."""
    if values and draw(st.integers(0, share)) == share:
        chosen[name] = draw(st.sampled_from(values))


def _inference(kind: str, container: str) -> st.SearchStrategy[str]:
    if container == "dask":
        return st.sampled_from(["sparse", "ep"])
    cheap = [name for name in INFERENCES if name not in SAMPLED]
    if container != "precomputed":
        cheap.append("sparse")
    rare = ["hmc"] if kind == "svc" else ["hmc", "mean_field"]
    return st.integers(0, 30).flatmap(lambda k: st.sampled_from(rare if k == 30 else cheap))


def _criteria(kind: str) -> tuple[str, ...]:
    return tuple(name for name, part in CRITERIA.items() if kind == "svc" or part.for_regression)


def _searched(draw: st.DrawFn, chosen: dict[str, Any], kind: str, container: str) -> None:
    """A short search of a criterion that it can climb."""
    if chosen["inference"] == "sparse" or container == "dask":
        defined = tuple(name for name in _criteria(kind) if CRITERIA[name].through_inducing_points)
        _choose(draw, chosen, "criterion", defined, 1)
        chosen["max_iter"] = draw(st.integers(1, 4))
        return
    _choose(draw, chosen, "criterion", _criteria(kind), 1)
    rough = "criterion" in chosen and not CRITERIA[chosen["criterion"]].smooth
    if rough or draw(st.integers(0, 4)) == 0:
        chosen["search"] = "random_walk"
    else:
        _choose(draw, chosen, "search", (*["gradient_ascent"] * 9, "sample"), 3)
    chosen["max_iter"] = draw(st.integers(1, 4))
    _choose(draw, chosen, "n_restarts", (1,), 9)
    _choose(draw, chosen, "validation_fraction", (0.2, 0.5), 9)
