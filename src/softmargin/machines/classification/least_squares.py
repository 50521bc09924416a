"""The least-squares machines of a classification, each with its leave-one-out log-probabilities.

They do not depend on each other; the hinge machine starts from the first one's length scales. With `n_jobs` the other
ones are fitted in a process of their own while the first and the hinge machine are fitted here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import Array
from softmargin.least_squares import fit_least_squares
from softmargin.machines.beside import beside, runs_beside
from softmargin.machines.classification.pairwise import leaves_whole_rows
from softmargin.machines.classification.record import ClassificationSettings
from softmargin.machines.classification.stack import Member
from softmargin.machines.sampled_rows import Source
from softmargin.machines.warp import Warp
from softmargin.policy import POLICY, LeastSquaresPolicy
from softmargin.rows import LocalRows, TrainingRows, spread_of
from softmargin.search import Report

Made = tuple[Member, Array]
"""A member and its leave-one-out log-probabilities, shape (n, n_classes)."""


@dataclass(frozen=True)
class LeastSquaresMembers:
    """How the least-squares machines of the composition are fitted."""

    rows: TrainingRows
    n_classes: int
    spread: Array
    settings: ClassificationSettings
    source: Source | None = None
    """All rows, of which `rows` are a sample; None: `rows` are all."""

    @contextmanager
    def fitted(self, report: Report | None) -> Iterator[tuple[list[Made], Callable[[], list[Made]]]]:
        """Fit the first machine; the block gets it and a function that waits for the other ones.

        Both lists are empty where the hinge machine is alone.
        """
        first, *others = self._compositions()
        if self.settings.composition == "hinge":
            yield [], list
            return
        if not others:
            yield [self._fit(*first, report)], list
            return
        n_jobs = self.settings.tuning.n_jobs
        # A Dask source has a cluster of its own to be summed on.
        apart = runs_beside(n_jobs) and (self.source is None or isinstance(self.source, LocalRows))
        sent = replace(self, settings=replace(self.settings, previous=None)) if apart else self
        fit_others = partial(sent._fit_all, others, None if apart else report)
        with beside(fit_others, n_jobs if apart else 1) as rest:
            yield [self._fit(*first, report)], rest

    def _compositions(self) -> list[tuple[str, Warp | None, LeastSquaresPolicy]]:
        """Name, warp and policy of each machine.

        The second is that of the ANOVA kernel. A kernel of the user's takes its place, and so does the first one's
        where rows are many, if there is something to warp.
        """
        settings, rows = self.settings, self.rows
        first = ("least_squares", None, settings.least_squares)
        if settings.composition != "stack" or settings.precomputed or issparse(rows.X):
            return [first]
        warp = Warp.of(rows.X, rows.weight)
        if settings.kernel is None and self.source is None and len(rows.y) <= POLICY.stack.additive_rows:
            return [first, ("least_squares_additive", warp, POLICY.additive)]
        return [first] if warp is None else [first, ("least_squares_warped", warp, settings.least_squares)]

    def _fit_all(
        self, compositions: list[tuple[str, Warp | None, LeastSquaresPolicy]], report: Report | None
    ) -> list[Made]:
        return [self._fit(*composition, report) for composition in compositions]

    def _fit(self, name: str, warp: Warp | None, policy: LeastSquaresPolicy, report: Report | None) -> Made:
        rows, settings, labels = self.rows, self.settings, self.rows.y.astype(np.intp)
        whole = leaves_whole_rows(rows, precomputed=settings.precomputed)
        X = rows.X if warp is None else warp(rows.X)
        machine = fit_least_squares(
            X,
            labels,
            rows.weight,
            self.n_classes,
            settings.kernel,
            spread=self.spread if warp is None else spread_of(X, rows.weight, settings.layout),
            layout=settings.layout,
            leave_whole_rows=whole,
            policy=policy,
            random_state=settings.tuning.seed,
            callback=None if report is None else report.without_result(),
            source=self.source,
            inputs=warp,
        )
        return Member(name, machine, warp), machine.cross_log_proba(labels, rows.weight, whole=whole)
