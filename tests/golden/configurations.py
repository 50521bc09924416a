"""Small deterministic configurations of the public API: name -> function that returns named arrays.

Only public names are used, so that the rooms of the package can be moved without touching this file.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic, WhiteKernel
from threadpoolctl import threadpool_limits

from softmargin import BaggedSelection, BayesianSVC, BayesianSVR, compare_criteria, compare_models
from softmargin.criteria import CRITERIA, Evidence, Problem
from softmargin.evidence import Chaining, Schedule, log_evidence, naive_evidence, normaliser
from softmargin.inference import INFERENCES, REPRODUCTIONS, Sparse, get_inference
from softmargin.kernels import KERNEL_NAMES
from softmargin.likelihoods import EpsilonInsensitive, Hinge, SquaredHinge
from softmargin.rows import DaskRows
from softmargin.search import SEARCHES

Numbers = dict[str, np.ndarray]

ROWS = 5
"""Rows of each prediction that are recorded."""
KERNEL = ConstantKernel(2.0) * RBF([1.0, 1.5]) + ConstantKernel(0.3)
QUICK = Schedule(n_islands=2, n_particles=8)

CONFIGURATIONS: dict[str, Callable[[], Numbers]] = {}


def add(name: str, function: Callable[..., Numbers], *args: Any, **kwargs: Any) -> None:
    """Enter a configuration into the table."""
    if name in CONFIGURATIONS:
        raise ValueError(f"configuration {name!r} is there already")
    CONFIGURATIONS[name] = partial(function, *args, **kwargs)


def evaluate(name: str) -> Numbers:
    """Run a configuration with one BLAS thread; every entry becomes an array of floats."""
    with threadpool_limits(1):
        return {key: np.asarray(value, dtype=np.float64) for key, value in CONFIGURATIONS[name]().items()}


# -- data ------------------------------------------------------------------------------------------------------------


def two_classes(n: int = 36, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels 0 and 1 with a curved boundary, of rather different frequency."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 - 0.6 + 0.5 * rng.standard_normal(n) > 0).astype(int)


def three_classes(n: int = 36, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Labels 0, 1 and 2 around the corners of a triangle."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]])[y] + 0.7 * rng.standard_normal((n, 2)), y


def targets(n: int = 36, d: int = 2, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function with noise, in units that are not 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, 10 + 3 * (np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 1] + 0.2 * rng.standard_normal(n))


def new_rows(d: int = 2) -> np.ndarray:
    """Rows to predict."""
    return np.random.default_rng(9).standard_normal((ROWS, d))


def thinned(X: np.ndarray) -> sparse.csr_matrix:
    """The same rows with small entries set to zero, as a sparse matrix."""
    return sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))


def weights(n: int) -> np.ndarray:
    """Weights of rows, one of them zero."""
    weight = np.random.default_rng(5).integers(1, 4, n).astype(float)
    weight[3] = 0.0
    return weight


# -- what is recorded ------------------------------------------------------------------------------------------------


def theta_of(kernel: Any) -> np.ndarray:
    """The logarithms of a kernel's parameters, or those of a list of kernels in a row."""
    return np.concatenate([k.theta for k in (kernel if isinstance(kernel, list) else [kernel])])


def learnt(model: Any) -> Numbers:
    """What both estimators learn."""
    out: dict[str, Any] = {"theta": theta_of(model.kernel_), "C": model.C_, "log_evidence": model.log_evidence_}
    for name in ("relevance_", "loo_log_loss_", "loo_error_", "loo_log_density_", "epsilon_", "noise_std_"):
        if hasattr(model, name):
            out[name.rstrip("_")] = getattr(model, name)
    if getattr(model, "search_path_", None):
        out["path"] = [row["objective"] for row in model.search_path_]
        out["n_iter"] = int(np.sum(model.n_iter_))
    if hasattr(model, "dual_coef_"):
        out["dual_coef_sums"] = np.stack([model.dual_coef_.sum(axis=1), np.abs(model.dual_coef_).sum(axis=1)])
        out["support"] = model.support_
    return out


def classified(model: BayesianSVC, X: Any) -> Numbers:
    """A classifier's predictions and what it learnt."""
    out = {"predict_proba": model.predict_proba(X), "decision_function": model.decision_function(X)}
    if model.inference != "map" and not isinstance(model.C_, list):
        out["latent_mean"], out["latent_variance"] = model.latent_mean_and_variance(X)
    return out | learnt(model)


def regressed(model: BayesianSVR, X: Any, *, error_bars: bool = True) -> Numbers:
    """A regressor's predictions and what it learnt."""
    out = {"predict": model.predict(X)}
    if error_bars:
        out["std"] = model.predict(X, return_std=True)[1]
        out["interval"] = model.predict_interval(X, confidence_level=0.9)
        out["quantiles"] = model.predict_quantiles(X, [0.2, 0.7])
        out["log_density"] = model.log_predictive_density(X, np.full(X.shape[0], 10.0))
    return out | learnt(model)


# -- fits ------------------------------------------------------------------------------------------------------------


def classify(
    data: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    sample_weight: np.ndarray | None = None,
    criterion_values: tuple[str, ...] = (),
    evidences: tuple[dict[str, Any], ...] = (),
    **parameters: Any,
) -> Numbers:
    """Fit a classifier; optionally evaluate criteria and evidences at what it learnt."""
    X, y = two_classes() if data is None else data
    model = BayesianSVC(**{"max_iter": 5, "random_state": 0, "stack": False, "multi_class": "ovo"} | parameters).fit(
        X, y, sample_weight
    )
    out = classified(model, new_rows(X.shape[1]))
    out |= {f"criterion_{name}": model.criterion_value(name) for name in criterion_values}
    return out | {f"evidence_{'_'.join(e.values())}": model.log_evidence(**e, random_state=0) for e in evidences}


def stacked_regression() -> Numbers:
    """All members of the default: target and inputs are skewed."""
    X, y = targets()
    model = BayesianSVR(max_iter=5, random_state=0).fit(np.exp(X), np.exp(y / 4))
    return regressed(model, np.exp(new_rows())) | {"weights": model.weights_}


def regress(
    data: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    sample_weight: np.ndarray | None = None,
    error_bars: bool = True,
    criterion_values: tuple[str, ...] = (),
    evidences: tuple[str, ...] = (),
    **parameters: Any,
) -> Numbers:
    """Fit a regressor; optionally evaluate criteria and evidences at what it learnt."""
    X, y = targets() if data is None else data
    model = BayesianSVR(**{"max_iter": 5, "random_state": 0, "stack": False} | parameters).fit(X, y, sample_weight)
    out = regressed(model, new_rows(X.shape[1]), error_bars=error_bars)
    out |= {f"criterion_{name}": model.criterion_value(name) for name in criterion_values}
    return out | {f"evidence_{name}": model.log_evidence(name) for name in evidences}


SVC_FIXED = {"kernel": KERNEL, "C": 2.0, "search": None}
SVR_FIXED = {"kernel": ConstantKernel(8.0) * RBF([1.0, 2.0]), "C": 2.0, "epsilon": 0.3, "search": None}
SAMPLED = ("conditional_evidence", "joint_evidence")
SMOOTH = ("evidence", "link_evidence", "laplace_evidence", "loo", "kwok", "radius_margin")

add("svc_default", classify)
add("svc_default_three_inputs", classify, two_classes(30, 3, seed=4), max_iter=3)
add("svc_three_classes_ovo", classify, three_classes(), max_iter=3)
add("svc_three_classes_ovr", classify, three_classes(), max_iter=3, multi_class="ovr")
add("svc_squared_hinge", classify, loss="squared_hinge", criterion="evidence")
add("svc_no_hyperprior", classify, hyperprior=None, criterion="evidence")
add("svc_restart", classify, two_classes(24), n_restarts=1, max_iter=3, criterion="evidence")
add("svc_validation_fraction", classify, validation_fraction=0.25, hyperprior=None, criterion="evidence")
add("svc_sample_weight", classify, sample_weight=weights(36))
add("svc_class_weight", classify, class_weight="balanced", criterion="evidence", max_iter=3)
add("svc_class_weight_three", classify, three_classes(), class_weight={0: 1.0, 1: 2.0, 2: 0.5}, max_iter=2)
add("svc_probability_mean", classify, **SVC_FIXED, probability="mean")
add("svc_probability_map", classify, **SVC_FIXED, probability="map")
add("svc_kernel_object", classify, kernel=ConstantKernel(2.0) * RationalQuadratic(1.0, 1.0), criterion="loo")

for _name in sorted(INFERENCES):
    add(f"svc_inference_{_name}", classify, two_classes(24), **SVC_FIXED, inference=_name)
    add(f"svc_inference_{_name}_squared", classify, two_classes(24), **SVC_FIXED, inference=_name, loss="squared_hinge")
for _name in ("laplace", "variational"):
    add(f"svc_search_{_name}", classify, two_classes(24), inference=_name, criterion="evidence", max_iter=4)
for _name in sorted(set(KERNEL_NAMES) - {"precomputed"}):
    add(f"svc_kernel_{_name}", classify, two_classes(24), kernel=_name, criterion="evidence", max_iter=3)
    add(f"svr_kernel_{_name}", regress, targets(24), kernel=_name, max_iter=3)
for _name in SMOOTH:
    add(
        f"svc_criterion_{_name}", classify, two_classes(24), criterion=_name, max_iter=3, hyperprior=None,
        inference="map" if _name in ("kwok", "radius_margin") else "ep",
        loss="squared_hinge" if _name == "radius_margin" else "hinge",
    )  # fmt: skip
for _name in ("gacv", "sv_count", "jaakkola_haussler", "svm_loo", "sharp_span"):
    add(
        f"svc_criterion_{_name}", classify, two_classes(24), criterion=_name, search="random_walk", max_iter=10,
        inference="map", C=1.0, hyperprior=None,
    )  # fmt: skip
add(
    "svc_criterion_span", classify, two_classes(24), criterion="span", max_iter=4, inference="map", C=1.0,
    loss="squared_hinge", hyperprior=None,
)  # fmt: skip
for _name in SAMPLED:
    add(f"svc_criterion_{_name}", classify, two_classes(10), criterion=_name, max_iter=2, kernel=KERNEL)
# A sampler's accepted steps can depend on the last digit: tests/search/test_hyper_sampling.py has its numbers.
for _name in sorted(set(SEARCHES) - {"lbfgs", "sample"}):
    add(f"svc_search_{_name}", classify, two_classes(24), criterion="evidence", search=_name)
    add(f"svr_search_{_name}", regress, targets(24), search=_name)
add(
    "svc_criterion_values_hinge", classify, two_classes(20), **SVC_FIXED,
    criterion_values=tuple(
        name for name in sorted(CRITERIA) if name not in ("span", "radius_margin") and name not in SAMPLED
    ),
)  # fmt: skip
add(
    "svc_criterion_values_squared", classify, two_classes(20), **SVC_FIXED, loss="squared_hinge",
    criterion_values=("span", "sharp_span", "radius_margin", "svm_loo", "sv_count", "loo"),
)  # fmt: skip
add(
    "svc_log_evidence", classify, two_classes(10), **SVC_FIXED,
    evidences=({"kind": "naive", "method": "laplace"}, {"kind": "naive", "method": "variational"}),
)  # fmt: skip

add("svr_default", regress, criterion_values=("evidence", "loo"), evidences=("laplace", "variational"))
add("svr_stack", stacked_regression)
add("svr_criterion_loo", regress, criterion="loo", max_iter=4)
add("svr_no_hyperprior", regress, hyperprior=None)
add("svr_given_noise", regress, C=2.0, epsilon=0.5, max_iter=3)
add("svr_restart", regress, targets(24), n_restarts=1, max_iter=3)
add("svr_validation_fraction", regress, validation_fraction=0.25, hyperprior=None)
add("svr_sample_weight", regress, sample_weight=weights(36))
add("svr_nugget", regress, nugget=True)
add("svr_nugget_given", regress, nugget=0.4, max_iter=3)
add("svr_white_kernel", regress, kernel=ConstantKernel(8.0) * RBF([1.0, 2.0]) + WhiteKernel(0.2), max_iter=3)
for _name in sorted(INFERENCES | REPRODUCTIONS):
    add(f"svr_inference_{_name}", regress, targets(24), **SVR_FIXED, inference=_name)
add("svr_search_mean_field", regress, targets(10), inference="mean_field", max_iter=1)


def gross_errors(keep: str) -> Numbers:
    """Two of the targets are absurd."""
    X, y = targets(44)
    y[[4, 17]] = [4e3, -7e3]
    with warnings.catch_warnings():
        if keep == "auto":
            warnings.simplefilter("ignore", UserWarning)
        model = BayesianSVR(gross_errors=keep, stack=False, max_iter=4, random_state=0).fit(X, y)
    return regressed(model, new_rows()) | {"gross_errors": model.gross_errors_}


add("svr_gross_errors_auto", gross_errors, "auto")
add("svr_gross_errors_keep", gross_errors, "keep")


# -- forms of input --------------------------------------------------------------------------------------------------


def precomputed(kind: str) -> Numbers:
    """A Gram matrix instead of inputs."""
    kernel = ConstantKernel(4.0) * RBF(1.2) + ConstantKernel(0.5)
    X, y = two_classes() if kind == "svc" else targets()
    K, K_new = kernel(X), kernel(new_rows(), X)
    if kind == "svr":
        model = BayesianSVR("precomputed", max_iter=4, random_state=0).fit(K, y)
        return {"predict": model.predict(K_new)} | learnt(model)
    model = BayesianSVC("precomputed", probability="mean", max_iter=4, random_state=0).fit(K, y)
    return {"predict_proba": model.predict_proba(K_new)} | learnt(model)


def csr(kind: str, **parameters: Any) -> Numbers:
    """Sparse rows in, sparse rows to predict."""
    X, y = two_classes() if kind == "svc" else targets()
    settings = {"max_iter": 3, "random_state": 0} | parameters
    if kind == "svc":
        return classified(BayesianSVC(criterion="evidence", **settings).fit(thinned(X), y), thinned(new_rows()))
    return regressed(BayesianSVR(**settings, stack=False).fit(thinned(X), y), thinned(new_rows()))


def stacked(n_classes: int) -> Numbers:
    """The default: machines mixed by stacking, with one skewed column."""
    X, y = two_classes(60) if n_classes == 2 else three_classes()
    X = np.column_stack([X, np.exp(2 * np.sin(7.0 * np.arange(len(y))))])
    model = BayesianSVC(max_iter=5, random_state=0).fit(X, y)
    new = np.column_stack([new_rows(), np.linspace(0.1, 7.0, len(new_rows()))])
    return {"predict_proba": model.predict_proba(new), "weights": model.weights_, "loo_log_loss": model.loo_log_loss_}


def warm(kind: str) -> Numbers:
    """Fit twice; the second search starts where the first one ended."""
    X, y = two_classes() if kind == "svc" else targets()
    cls = BayesianSVC if kind == "svc" else BayesianSVR
    model = cls(warm_start=True, max_iter=2, random_state=0, stack=False).fit(X[:24], y[:24]).fit(X, y)
    return (classified if kind == "svc" else regressed)(model, new_rows())


def dask_input(kind: str) -> Numbers:
    """Chunked input and lazy predictions."""
    import dask
    import dask.array as da

    X, y = two_classes(40) if kind == "svc" else targets(40)
    settings = {"inference": "sparse", "n_inducing": 8, "max_iter": 3, "random_state": 0}
    with dask.config.set(scheduler="synchronous"):
        lazy, lazy_y = da.from_array(X, chunks=(13, 2)), da.from_array(y, chunks=13)
        lazy_new = da.from_array(new_rows(), chunks=(2, 2))
        if kind == "svc":
            model = BayesianSVC(**settings, multi_class="ovo").fit(lazy, lazy_y)
            return {"lazy_predict_proba": model.predict_proba(lazy_new).compute()} | classified(model, new_rows())
        model = BayesianSVR(**settings).fit(lazy, lazy_y)
        return {"lazy_predict": model.predict(lazy_new).compute()} | regressed(model, new_rows())


def dask_sums() -> Numbers:
    """Sparse inference that sees the rows through the sums of their chunks only."""
    import dask
    import dask.array as da

    X, y = two_classes(60)
    with dask.config.set(scheduler="synchronous"):
        rows = DaskRows.of(da.from_array(X, chunks=(17, 2)), da.from_array(2.0 * y - 1, chunks=17), weights(60))
        posterior = Sparse().infer_rows(rows, Hinge(2.0), KERNEL, X[:8])
    return {"log_evidence": posterior.log_evidence, "latent_mean": posterior.whitened_mean}


def stream(kind: str) -> Numbers:
    """A first batch is fitted, two more update it."""
    X, y = two_classes(60) if kind == "svc" else targets(60)
    cls = BayesianSVC if kind == "svc" else BayesianSVR
    model = cls(inference="sparse", n_inducing=8, max_iter=3, random_state=0)
    for first in (0, 30, 45):
        model.partial_fit(X[first : first + (30 if first == 0 else 15)], y[first : first + (30 if first == 0 else 15)])
    return (classified if kind == "svc" else regressed)(model, new_rows())


SPARSE = {"inference": "sparse", "n_inducing": 8, "max_iter": 3}
for _kind in ("svc", "svr"):
    add(f"{_kind}_precomputed", precomputed, _kind)
    add(f"{_kind}_csr", csr, _kind)
    add(f"{_kind}_csr_sparse", csr, _kind, inference="sparse", n_inducing=8)
    add(f"{_kind}_warm_start", warm, _kind)
    add(f"{_kind}_dask", dask_input, _kind)
    add(f"{_kind}_partial_fit", stream, _kind)
add("dask_sums", dask_sums)
add("svc_sparse", classify, two_classes(60), **SPARSE)
add("svc_sparse_three_classes", classify, three_classes(45), **SPARSE)
add("svc_sparse_class_weight", classify, two_classes(60), **SPARSE, class_weight="balanced")
add("svc_sparse_fixed", classify, two_classes(60), **SPARSE | SVC_FIXED, sample_weight=weights(60))
add("svr_sparse", regress, targets(60), **SPARSE)
add("svr_sparse_sample_weight", regress, targets(60), **SPARSE, sample_weight=weights(60))


# -- evidence, posteriors and comparisons ----------------------------------------------------------------------------


def gram(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix and labels -1 and +1."""
    X, y = two_classes(n)
    return KERNEL(X), 2.0 * y - 1


def evidence(method: str) -> Numbers:
    """Every kind of evidence by one method, for both losses."""
    K, y = gram(4 if method == "exact" else 8)
    out = {}
    for loss in ("hinge", "squared_hinge"):
        for kind in ("naive", "conditional", "joint"):
            estimate = log_evidence(
                K, y, 1.5, loss=loss, kind=kind, method=method, random_state=0, schedule=QUICK,
                chaining=Chaining(n_sweeps=50, n_chains=2),
            )  # fmt: skip
            out[f"{loss}_{kind}"] = [estimate.value, estimate.standard_error or 0.0]
    return out


def evidence_of_targets() -> Numbers:
    """The evidence of a regression."""
    X, y = targets(12)
    settings = {"loss": "epsilon_insensitive", "epsilon": 0.2, "weight": weights(12) + 0.5}
    settings |= {"random_state": 0, "schedule": QUICK}
    return {
        method: log_evidence(KERNEL(X), (y - 10) / 3, 3.0, method=method, **settings).value
        for method in ("ep", "laplace", "variational", "annealing")
    }


def with_gradient(name: str, value: Any) -> Numbers:
    """A value with the first entries of its gradient."""
    out = {name: value.value}
    if value.d_gram is not None:
        out[f"{name}_d_gram"] = value.d_gram[:2, :ROWS]
    if value.d_params is not None:
        out[f"{name}_d_params"] = value.d_params
    return out


def evidence_gradients() -> Numbers:
    """Annealed evidences with their gradients."""
    K, y = gram(8)
    out: Numbers = {}
    for likelihood in (Hinge(1.5), SquaredHinge(1.5)):
        naive = naive_evidence(K, y, likelihood, schedule=QUICK, random_state=0)
        joint = normaliser(K, likelihood, "joint", schedule=QUICK, random_state=0)
        out |= with_gradient(f"{likelihood.name}_naive", naive) | with_gradient(f"{likelihood.name}_joint", joint)
    return out


def posterior_of(name: str) -> Numbers:
    """Posterior and evidence of one inference at given Gram matrices of a classification and a regression."""
    X, t = targets(14)
    out: Numbers = {}
    problems = {
        "hinge": Problem(*gram(14), Hinge(1.5)),
        "tube": Problem(KERNEL(X), (t - 10) / 3, EpsilonInsensitive(3.0, 0.2)),
    }
    for key, problem in problems.items():
        posterior = get_inference(name)().infer(problem.K, problem.y, problem.likelihood, None)
        out |= {f"{key}_mean": posterior.mean[:ROWS], f"{key}_variance": posterior.variance[:ROWS]}
        out |= with_gradient(f"{key}_evidence", Evidence()(posterior, problem))
    return out


def compared_criteria() -> Numbers:
    """Two criteria, two trials each."""
    X, y = two_classes(40)
    estimators = {
        "gacv": BayesianSVC("rbf", criterion="gacv", search="random_walk", inference="map", C=1.0, max_iter=6),
        "evidence": BayesianSVC("rbf", criterion="evidence", max_iter=2),
    }
    result = compare_criteria(X, y, estimators, n_trials=2, random_state=0)
    return {
        "criterion": [trial.criterion for trial in result.trials],
        "test_error": [trial.test_error for trial in result.trials],
    }


def compared_models() -> Numbers:
    """Kernels ranked by their evidence."""
    X, y = two_classes(30)
    result = compare_models(X, y, ["linear", "rbf"], evidence=["kwok", "ep", "laplace", "link_evidence"], max_iter=4)
    return {name: [row[name] for row in result.table] for name in ("C", "log_evidence")}


def bagged(combine: str) -> Numbers:
    """Several trials, combined."""
    X, y = two_classes(30)
    estimator = BayesianSVC(criterion="evidence", max_iter=2, kernel=KERNEL)
    model = BaggedSelection(estimator, n_trials=2, combine=combine, random_state=0).fit(X, y)
    return {"predict_proba": model.predict_proba(new_rows()), "weights": model.weights_}


def criterion_gradient(name: str) -> Numbers:
    """A smooth criterion with its gradient at a given Gram matrix."""
    K, y = gram(14)
    criterion = CRITERIA[name]()
    likelihood = criterion.likelihood((SquaredHinge if name in ("span", "radius_margin") else Hinge)(1.5))
    posterior = criterion.inference_for(get_inference("ep")()).infer(K, y, likelihood, None)
    return with_gradient(name, criterion(posterior, Problem(K, y, likelihood)))


add("svc_stack", stacked, 2)
add("svc_joint", stacked, 3)
for _name in ("ep", "laplace", "variational", "chaining", "annealing", "exact"):
    add(f"evidence_{_name}", evidence, _name)
add("evidence_regression", evidence_of_targets)
add("evidence_gradients", evidence_gradients)
for _name in ("ep", "laplace", "variational"):
    add(f"posterior_{_name}", posterior_of, _name)
for _name in sorted(CRITERIA):
    if CRITERIA[_name].smooth:
        add(f"gradient_{_name}", criterion_gradient, _name)
add("compare_criteria", compared_criteria)
add("compare_models", compared_models)
add("bagged_average", bagged, "average")
add("bagged_evidence", bagged, "evidence")
