"""The fit of one latent function: search, then the posterior at the learnt hyperparameters."""

from dataclasses import dataclass, replace
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, keep_freed_memory
from softmargin.criteria import Evidence
from softmargin.inference import EP, Inference, Posterior, Variational
from softmargin.kernels import PrecomputedKernel, evaluate
from softmargin.likelihoods import Likelihood
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows
from softmargin.search import Search
from softmargin.tuning.averaged import AveragedModel
from softmargin.tuning.climb import Climb, End
from softmargin.tuning.coordinates import Coordinates, LikelihoodCoordinates
from softmargin.tuning.held_out import HeldOut, hold_out
from softmargin.tuning.hyperprior import amplitude_units, bind_prior
from softmargin.tuning.large.low_rank import fit_low_rank
from softmargin.tuning.model import LatentModel
from softmargin.tuning.settings import Tuning
from softmargin.tuning.stages import is_better_link, is_contested
from softmargin.tuning.structure.restarts import restart_points
from softmargin.tuning.threads import blas_threads


def fit_latent(
    rows: TrainingRows,
    kernel: Kernel,
    likelihood: LikelihoodCoordinates,
    spread: Array,
    tuning: Tuning,
    start: Array | None = None,
) -> LatentModel:
    """Learn the hyperparameters of one latent function and infer its posterior.

    Parameters
    ----------
    rows : TrainingRows
        Rows, targets and weights, copies merged.
    kernel : Kernel
        Its free parameters are learnt, starting from their values.
    likelihood : LikelihoodCoordinates
        Those of the support vector machine.
    spread : ndarray of shape (n_features,)
        Standard deviation of each input.
    tuning : Tuning
        Parts and options of the search.
    start : ndarray of shape (n_z,), optional
        Coordinates to start the search from, if there are as many.
    """
    keep_freed_memory()
    tuning = _for_sampling(tuning)
    # An EP object with settings of its own is used as it is.
    low_rank = tuning.is_default and tuning.inference == EP() and not isinstance(kernel, PrecomputedKernel)
    if low_rank and len(rows.y) > POLICY.size.dense_rows:
        return fit_low_rank(rows, kernel, likelihood, spread, tuning, start)
    with blas_threads(POLICY.search.blas_threads):
        coordinates = Coordinates(kernel, likelihood, n_features=len(spread))
        asked = tuning.inference
        if tuning.is_default and is_contested(rows, coordinates):
            coordinates = coordinates.with_likelihood(likelihood.normalised())
            tuning = replace(tuning, criterion=Evidence(), inference=Variational())
        end = None
        z = start if start is not None and len(start) == len(coordinates.start) else _first_point(coordinates, tuning)
        if tuning.search is not None and len(z):
            end = _search(rows, coordinates, spread, tuning, tuning.search, z)
            z = end.evaluation.z
        svm = likelihood.at(z[coordinates.n_theta :])
        model = _Final(rows, coordinates, z, svm, tuning.inference, asked, tuning.brief).model(end)
        if end is None or not end.samples:
            return model
        machines = [likelihood.at(u[coordinates.n_theta :]) for u in end.samples]
        finals = [
            _Final(rows, coordinates, u, machine, asked, asked, tuning.brief)
            for u, machine in zip(end.samples, machines)
        ]
        members = [final.model(None) for final in finals]
        return AveragedModel.of(model, members)


def _first_point(coordinates: Coordinates, tuning: Tuning) -> Array:
    """Where a search starts that has no earlier fit to go on from, shape (n_z,)."""
    hinted = coordinates.hinted(coordinates.start, tuning.hint)
    return coordinates.start if hinted is None else hinted


def _for_sampling(tuning: Tuning) -> Tuning:
    """Give a search that samples the evidence as its density, unless another evidence is given."""
    if tuning.search is None or not tuning.search.gives_samples:
        return tuning
    if tuning.criterion is not None and not tuning.criterion.uses_evidence:
        raise ValueError(
            f"search={tuning.search.name!r} samples hyperparameters in proportion to the evidence, which "
            f"criterion={tuning.criterion.name!r} is not; use criterion='evidence' or another search"
        )
    return replace(tuning, criterion=tuning.criterion or Evidence())


@dataclass(frozen=True)
class _Final:
    """The posteriors at the learnt coordinates."""

    rows: TrainingRows
    coordinates: Coordinates
    z: Array
    svm: Likelihood
    """The support vector machine's likelihood."""
    inference: Inference
    """That of the posterior."""
    asked: Inference
    """That of the naive evidence, if the posterior has another likelihood."""
    brief: bool
    """Whether nobody asks for the support vector machine."""

    def model(self, end: End | None) -> LatentModel:
        """Infer with all digits: the search had fewer, without held-out rows, or another likelihood."""
        rows, model = self.rows, self.coordinates.model(self.z)
        K = evaluate(model.kernel, rows.X).K
        first = None if end is None else end.evaluation.posterior
        if first is not None and first.beta.shape != rows.y.shape:
            first = None
        likelihood = model.likelihood.normalised() if end is not None and end.is_link else model.likelihood
        posterior = self._infer(self.inference.for_prediction(), K, likelihood, first)
        naive = posterior.log_evidence
        if likelihood != self.svm:
            naive = self._infer(self.asked.without_gradients(), K, self.svm).log_evidence
        solved: Any = None
        if not self.brief:
            solved = "later" if posterior.has_variance else posterior
        path, value = ([], float("nan")) if end is None else (end.path, end.evaluation.value)
        return LatentModel(
            rows, model.kernel, self.svm, posterior, path, value, self.z, likelihood, naive, solved=solved
        )

    def _infer(self, inference: Inference, K: Array, likelihood: Likelihood, start: Any = None) -> Posterior:
        posterior = inference.infer(K, self.rows.y, likelihood, self.rows.weight, start)
        # Some cannot leave their gradient out: n^2 numbers less to keep.
        return replace(posterior, d_gram=None)


def _search(
    rows: TrainingRows, coordinates: Coordinates, spread: Array, tuning: Tuning, search: Search, start: Array
) -> End:
    """Run the stages from every start and return the best end, with the path of all."""
    held_out = _held_out(rows, coordinates, tuning)
    if held_out is not None:
        rows = held_out.train
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, rows.X)
    units = amplitude_units(coordinates, rows.X)
    starts = [start, *restart_points(coordinates, spread, tuning.hyperprior, tuning.n_restarts, tuning.seed, units)]
    if len(starts) > 1 and effective_n_jobs(tuning.n_jobs) > 1:
        tuning = tuning.without_report()
    climb = Climb(rows, coordinates, spread, tuning, search, log_prior, held_out)
    if len(starts) == 1:
        ends = [climb(start, tuning.seed)]
    else:
        with blas_threads(1):
            ends = Parallel(n_jobs=tuning.n_jobs)(delayed(climb)(z, tuning.seed + k) for k, z in enumerate(starts))
    path = [{"start": k, **row} for k, end in enumerate(ends) for row in end.path]
    return choose_end(ends, coordinates, rows)._replace(path=path)


def _held_out(rows: TrainingRows, coordinates: Coordinates, tuning: Tuning) -> HeldOut | None:
    if tuning.validation_fraction is None:
        return None
    return hold_out(
        rows,
        tuning.validation_fraction,
        tuning.seed,
        stratify=coordinates.is_classifier,
        precomputed=isinstance(coordinates.kernel, PrecomputedKernel),
    )


def choose_end(ends: list[End], coordinates: Coordinates, rows: TrainingRows) -> End:
    """The best end; leave-one-out compares the best link model of all starts with the best margin model."""
    best = max(ends, key=lambda end: end.score)
    link = max((end.link for end in ends if end.link is not None), key=lambda link: link.value, default=None)
    if link is None or not is_better_link(link, best.evaluation, coordinates, rows):
        return best
    return best._replace(evaluation=link, is_link=True)
