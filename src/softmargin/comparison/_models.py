"""Ranking kernels by their evidence: Kwok's level 3 and, better, the evidence of any of the inferences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.comparison._kwok import choose_C
from softmargin.criteria import Evidence, get_criterion
from softmargin.criteria.kwok import ETA
from softmargin.inference import INFERENCES, get_inference
from softmargin.kernels import evaluate, make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS
from softmargin.tuning import Coordinates, LogParameters, Objective, Subspace


@dataclass(frozen=True)
class ModelComparison:
    """One row for each kernel and evidence, and the ranking."""

    table: list[dict[str, Any]] = field(repr=False)
    """Rows with "kernel", "evidence" (its name), "C", "log_evidence" in nats; Kwok's also with "level_2", "gamma"."""
    kernels: dict[str, Kernel] = field(repr=False)
    """Label -> kernel, with the parameters learnt under the last evidence."""

    def log_bayes_factors(self, evidence: str) -> dict[str, float]:
        """ln of the evidence of every kernel against the best one, in nats (0 for the best), best first."""
        rows = {row["kernel"]: row["log_evidence"] for row in self.table if row["evidence"] == evidence}
        if not rows:
            known = sorted({row["evidence"] for row in self.table})
            raise ValueError(f"no kernel was compared by evidence {evidence!r}; there is {known}")
        top = max(rows.values())
        return dict(sorted(((label, value - top) for label, value in rows.items()), key=lambda item: -item[1]))

    def best(self, evidence: str) -> str:
        """Label of the kernel with the largest evidence."""
        return next(iter(self.log_bayes_factors(evidence)))

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.table)


def compare_models(
    X: Any,
    y: Any,
    kernels: Sequence[Any] | Mapping[str, Any],
    *,
    evidence: Sequence[str] = ("kwok", "ep"),
    learn: Literal["C", "all"] = "C",
    eta: float = ETA,
    max_iter: int = 60,
) -> ModelComparison:
    """Rank kernels for a binary classification problem by their evidence.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs of all rows.
    y : array-like of shape (n_samples,)
        Two classes of any kind.
    kernels : sequence of kernels or names, or mapping from label to kernel
        As `BayesianSVC` takes them; polynomials of several degrees, for instance.
    evidence : sequence of str
        "kwok" (Kwok 1999: C by level 2, ranking by level 3), "laplace", "ep", "variational", or "link_evidence" (EP
        with the normalised class probability): all of them in nats, comparable between kernels, not with each other.
    learn : {"C", "all"}
        Learn C alone, the kernels staying as they are given (Kwok's setting), or every free parameter of the kernels
        too (not for "kwok", whose level 3 integrates over C only).
    eta : float
        Steepness of Kwok's smoothed step.
    max_iter : int
        Iterations of L-BFGS for one kernel.

    Returns
    -------
    ModelComparison
        Evidences of all kernels and their Bayes factors.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> compare_models(X, y, ["linear", "rbf"], evidence=["ep"], learn="all").best("ep")
    'rbf'
    """
    X = np.asarray(X, dtype=float)
    classes, index = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"compare_models ranks kernels for two classes; y has {len(classes)}")
    allowed = ["kwok", "link_evidence", *(n for n in INFERENCES if n in ("laplace", "ep", "variational"))]
    for name in evidence:
        if name not in allowed:
            raise ValueError(f"unknown evidence {name!r}; choose from {allowed}")
    labels = np.where(index == 1, 1.0, -1.0)
    given = dict(kernels) if isinstance(kernels, Mapping) else {str(kernel): kernel for kernel in kernels}
    ready = {label: make_kernel(kernel, X.shape[1], X.std(axis=0)) for label, kernel in given.items()}
    table, learnt = [], dict(ready)
    for label, kernel in ready.items():
        for name in evidence:
            if name == "kwok":
                table.append({"kernel": label, "evidence": name, **_kwok_row(kernel, X, labels, eta)})
                continue
            row, learnt[label] = _evidence_row(kernel, X, labels, name, learn, max_iter)
            table.append({"kernel": label, "evidence": name, **row})
    return ModelComparison(table, learnt)


def _kwok_row(kernel: Kernel, X: Array, y: Array, eta: float) -> dict[str, Any]:
    K = evaluate(kernel, X).K
    direct, fixed = (choose_C(K, y, method=method, eta=eta) for method in ("direct", "fixed_point"))
    return {
        "C": direct.C,
        "log_evidence": direct.level_3,
        "level_2": direct.level_2,
        "gamma": direct.gamma,
        "fixed_point_C": fixed.C,
    }


def _evidence_row(
    kernel: Kernel, X: Array, y: Array, name: str, learn: str, max_iter: int
) -> tuple[dict[str, Any], Kernel]:
    """Maximise the evidence over C, or over everything."""
    coordinates = Coordinates(kernel, LogParameters(Hinge(), ("C",), (POLICY.likelihood.C,)), X.shape[1])
    if name in INFERENCES:
        criterion, inference = Evidence(), get_inference(name)()
    else:
        criterion = get_criterion(name)()
        inference = criterion.inference()
    objective = Objective(X, y, None, coordinates, criterion, inference)
    directions = np.eye(len(coordinates.start))
    space = Subspace(objective, coordinates.start, directions if learn == "all" else directions[:, -1:])
    bounds = space.bounds(coordinates.bounds)
    best = LBFGS(max_iter=max_iter, tol=1e-4).maximise(space, np.zeros(len(bounds)), bounds).best
    model = coordinates.model(best.z)
    return {"C": float(model.likelihood.C), "log_evidence": best.criterion}, model.kernel  # type: ignore[attr-defined]
