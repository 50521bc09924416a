"""Tables 1 to 5 of Gold & Sollich (2003)."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from papers import _gold
from papers._claims import Claim, unless, verdict
from papers._gold import COLUMNS, SIMPLE, TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, Peak, Trial
from papers._pieces import Pieces
from softmargin import BayesianSVC

# Bounds of the verdicts, fixed before this run, after earlier ones.
MUCH_DEARER = 3.0
"""Table 2: how many times the cost of a simple criterion a gradient by sampling must have."""
CLEARLY = 2.0
"""Tables 3 and 5: standard errors of a difference that count as clear."""
NOISE_WITHIN = 1.0
"""Table 3: nats above the evidence of labels without any pattern up to which an ascent has found none."""
HALF_THE_GAIN, NO_GAIN = 0.5, 0.3
"""Table 3: share of the paper's gain by early stopping that ours must reach; points that are no gain."""
BEST_WITHIN = 1.5
"""Table 4: points from the best of table 5."""
NEAR = 1.5
"""Table 5: points by which a method run again may miss the paper's number."""


def tables(
    name: str,
    trials: dict[str, list[Trial]],
    others: dict[str, list[float]],
    peaks: list[Peak],
    rivals: dict[str, float],
    counts: tuple[int, int, int, int],
) -> list[Claim]:
    """One row of each of tables 1 to 4."""
    data = _gold.load(name)
    sizes = (data.X.shape[1], len(data.y), len(data.y_test))
    return [
        Claim(
            "Table 1",
            f"Inputs, training and test rows of {name}",
            _join(TABLE_1[name]),
            _join(sizes),
            verdict(sizes == TABLE_1[name]),
        ),
        seconds(name, trials),
        *table_3(name, trials, others, peaks, counts),
        table_4(name, trials, rivals, counts),
    ]


def table_3(
    name: str,
    trials: dict[str, list[Trial]],
    others: dict[str, list[float]],
    peaks: list[Peak],
    counts: tuple[int, int, int, int],
) -> list[Claim]:
    """Means and standard deviations, and what early stopping could gain."""
    errors = _errors(trials)
    means = {column: float(values.mean()) for column, values in errors.items()}
    theirs = [float(entry.split()[0]) for entry in TABLE_3[name]]
    agrees, why = _beats(errors), _circumstances(name, errors, others) + "; " + _few(trials, counts)
    if others and agrees == "yes" and _beside(others, errors) != "yes":
        # What holds for walks that end early only is not what the paper means.
        agrees = "partly"
    reasons = [_noise_only(trials["Evid grad"], len(_gold.load(name).y)), _at_the_top(peaks)]
    gain, paper_gain = means["Evid grad"] - means["ES"], theirs[4] - theirs[5]
    stopped = verdict(gain >= HALF_THE_GAIN * paper_gain and gain > 0 if paper_gain > 0 else gain < NO_GAIN)
    return [
        Claim(
            "Table 3",
            f"Mean test error in % on {name}: the evidence's ascent beats every simple criterion",
            ", ".join(f"{c} {v}" for c, v in zip(COLUMNS, TABLE_3[name])),
            ", ".join(f"{column} {_mean_and_sd(errors[column])}" for column in COLUMNS),
            agrees,
            why + unless(agrees, "; ".join(reason for reason in reasons if reason)),
        ),
        Claim(
            "Table 3",
            f"Early stopping on {name}: the lowest test error of an ascent is below its last",
            f"by {paper_gain:.1f} points",
            f"by {gain:.1f} points",
            stopped,
            "never below zero by construction (the lowest is chosen on the test set): the verdict asks for at least "
            f"half of the paper's gain, and where the paper has none for less than {NO_GAIN}; the ascents end at "
            f"{means['Evid grad']:.1f} % (paper {theirs[4]:.1f} %)" + unless(stopped, _at_the_top(peaks)),
        ),
    ]


def _circumstances(name: str, errors: dict[str, np.ndarray], others: dict[str, list[float]]) -> str:
    """By how much the ascent is better, what the paper has, and what the choice of the walks' settings does."""
    mine, theirs = errors["Evid grad"], [float(entry.split()[0]) for entry in TABLE_3[name]]
    simple = float(np.mean([errors[column].mean() for column in SIMPLE]))
    lower = ", ".join(f"{_standard_errors(mine, errors[column]):.1f} ({column})" for column in SIMPLE)
    text = f"the ascent is lower by {lower} standard errors of the difference; the simple criteria average "
    text += f"{simple:.1f} (paper {np.mean(theirs[:4]):.1f}), the ascent {mine.mean():.1f} ({theirs[4]:.1f})"
    if others:
        walks = {column: np.array(values) for column, values in others.items()}
        text += f"; {len(walks['LE1'])} walks each with the library's own settings, which keep fewer steps, have "
        text += ", ".join(f"{c} {values.mean():.1f}" for c, values in walks.items())
        text += f": beside these it would be {_beside(others, errors)}, and a yes asks for both"
    text += "; each gradient is from 640 draws of our sampler, the paper's from 20,000 of its own"
    return text + "; the paper's LE2 entry 2.5 ± 5.3 cannot be, with a best trial of 2.2" * (name == "ringnorm")


def _beats(errors: dict[str, np.ndarray]) -> str:
    """yes: the ascent is clearly below each criterion; partly: below their average; no: neither."""
    mine, simple = errors["Evid grad"], [errors[column] for column in SIMPLE]
    clearly = min(_standard_errors(mine, values) for values in simple) > CLEARLY
    return verdict(clearly, float(mine.mean()) < float(np.mean([values.mean() for values in simple])))


def _beside(others: dict[str, list[float]], errors: dict[str, np.ndarray]) -> str:
    """The same with other walks."""
    return _beats({column: np.array(values) for column, values in others.items()} | {"Evid grad": errors["Evid grad"]})


def _standard_errors(a: np.ndarray, b: np.ndarray) -> float:
    """By how many standard errors of the difference the mean of a is below that of b."""
    return float((b.mean() - a.mean()) / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


def _at_the_top(peaks: list[Peak]) -> str:
    """How far the ascents are below the maxima of the evidence, and what these are worth."""
    gains = [p.gain for p in peaks]
    return (
        f"the maxima of EP's evidence above the ends, {np.median(gains):.1f} nats higher (at most {max(gains):.1f}), "
        f"have {_mean_and_sd(np.array([p.error for p in peaks]))} %"
    )


def _noise_only(ascents: list[Trial], n: int) -> str:
    """What ascents that call all labels noise do to their column's mean; nothing without any."""
    chance = n * np.log(0.5)
    lost = [t for t in ascents if t.path[-1].value < chance + NOISE_WITHIN]
    if not lost:
        return ""
    rest = [t.error for t in ascents if t.path[-1].value >= chance + NOISE_WITHIN]
    return (
        f"{len(lost)} of {len(ascents)} ascents go to C = {min(np.exp(t.z[-1]) for t in lost):.2g} and the evidence of "
        f"labels without any pattern, {n} ln(1/2) = {chance:.1f}, the others end at {np.mean(rest):.1f} %"
    )


def table_4(
    name: str, trials: dict[str, list[Trial]], rivals: dict[str, float], counts: tuple[int, int, int, int]
) -> Claim:
    """The best trial, of as many of each column; early stopping, chosen on the test set, is apart."""
    errors, n = _errors(trials), counts[2]
    best = {column: _gold.expected_best(values, n) for column, values in errors.items()}
    bound = min(TABLE_5[name]) + BEST_WITHIN
    far = [column for column in COLUMNS[:5] if best[column] > bound]
    agrees = verdict(*(column not in far for column in COLUMNS[:5]))
    rival = min(rivals, key=lambda label: rivals[label])
    return Claim(
        "Table 4",
        f"Best test error in % on {name}: the best trials match the best of table 5 (within {BEST_WITHIN} points)",
        ", ".join(f"{c} {v}" for c, v in zip(COLUMNS, TABLE_4[name])),
        ", ".join(f"{c} {best[c]:.1f}" for c in COLUMNS),
        agrees,
        f"the mean of the best of {n} trials of each column; ES, chosen on the test set, does not count; "
        + _few(trials, counts)
        + unless(
            agrees,
            f"above {bound:.1f} %: {', '.join(far)}; the best of table 5's methods run again here has "
            f"{rivals[rival]:.1f} % ({rival}), the paper's own trials of these columns "
            + ", ".join(f"{TABLE_4[name][COLUMNS.index(c)]}" for c in far),
        ),
    )


def rivals(name: str, pieces: Pieces) -> dict[str, float]:
    """Test errors in % of table 5's methods, as far as this library or scikit-learn has them."""
    return pieces(f"rivals-{name}", lambda: _rivals(name), RIVALS)


def table_5(name: str, pieces: Pieces) -> Claim:
    """Table 5: the methods run again on the paper's split."""
    found = rivals(name, pieces)
    theirs = dict(zip(("GP Var", "SVM Var", "SVM CV", "GP Lap", "GP MF"), TABLE_5[name]))
    far = [label for label in theirs if abs(found[label] - theirs[label]) > NEAR]
    n = len(_gold.load(name).y_test)
    # Of the difference of two shares of n test rows, as if they were independent.
    sigma = {k: np.sqrt(sum(p * (100 - p) for p in (found[k], theirs[k])) / n) for k in far}
    return Claim(
        "Table 5",
        f"Test error in % of earlier methods on {name}, within {NEAR} points",
        ", ".join(f"{label} {value}" for label, value in theirs.items()),
        ", ".join(f"{label} {value:.1f}" for label, value in found.items()),
        verdict(*(label not in far for label in theirs)),
        "GP: logistic, a length scale for each input, by the variational bound, by Laplace's evidence and by EP for "
        "the mean field; sklearn: its GaussianProcessClassifier, Laplace with one length scale; SVM CV: ten-fold, one "
        "length scale; default: BayesianSVC()"
        + (f"; farther off, in standard errors of a difference over {n} test rows: " if far else "")
        + ", ".join(f"{k} {abs(found[k] - theirs[k]) / sigma[k]:.1f}" for k in far)
        + ("; why is not investigated" if any(abs(found[k] - theirs[k]) > CLEARLY * sigma[k] for k in far) else ""),
    )


RIVALS = "2: GP Lap by this library"
"""Setting of the pieces of table 5."""


def _rivals(name: str) -> dict[str, float]:
    data = _gold.load(name)
    d = data.X.shape[1]
    grid = {"C": np.geomspace(0.1, 1e3, 5), "gamma": 1 / (2 * d * np.geomspace(0.1, 10, 5) ** 2)}
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    models = {
        "GP Var": BayesianSVC(loss="logistic", inference="variational", criterion="evidence", max_iter=40),
        "SVM Var": BayesianSVC(inference="variational", criterion="evidence", C=1.0, max_iter=40),
        "SVM CV": GridSearchCV(SVC(), grid, cv=folds),
        "GP Lap": BayesianSVC(loss="logistic", inference="laplace", criterion="evidence", stack=False, max_iter=40),
        "GP MF": BayesianSVC(loss="logistic", inference="ep", criterion="evidence", max_iter=40),
        "default": BayesianSVC(),
        "sklearn": GaussianProcessClassifier(ConstantKernel(1.0) * RBF(np.sqrt(d)), random_state=0),
    }
    return {
        label: 100 * float(np.mean(model.fit(data.X, data.y).predict(data.X_test) != data.y_test))
        for label, model in models.items()
    }


def _errors(trials: dict[str, list[Trial]]) -> dict[str, np.ndarray]:
    errors = {column: np.array([t.error for t in mine]) for column, mine in trials.items()}
    return errors | {"ES": np.array([min(t.errors) for t in trials["Evid grad"]])}


def _few(trials: dict[str, list[Trial]], counts: tuple[int, int, int, int]) -> str:
    walks = [t for column in SIMPLE for t in trials[column]]
    ended, done = sum(t.converged for t in walks), sum(t.converged for t in trials["Evid grad"])
    return (
        f"{counts[0]} walks of at most {counts[1]} sweeps ({ended} of {len(walks)} ended by their own rule), "
        f"{counts[2]} ascents of at most {counts[3]} steps ({done} of {counts[2]})"
    )


def seconds(name: str, trials: dict[str, list[Trial]]) -> Claim:
    """Table 2."""
    ours = [1e3 * _gold.svm_seconds(_gold.load(name))]
    ours += [1e3 * float(np.mean([t.seconds for t in trials[column]])) for column in (*SIMPLE, "Evid grad")]
    labels = ("SVM", *SIMPLE, "Evid grad")
    ratio = ours[-1] / np.mean(ours[1:-1]), TABLE_2[name][-1] / np.mean(TABLE_2[name][1:-1])
    return Claim(
        "Table 2",
        f"CPU time per step on {name}: gradients by sampling cost far more than the simple criteria",
        ", ".join(f"{c} {v} s" for c, v in zip(labels, TABLE_2[name])) + f"; {ratio[1]:.0f} times",
        ", ".join(f"{c} {v:.1f} ms" for c, v in zip(labels, ours)) + f"; {ratio[0]:.0f} times",
        verdict(ratio[0] > MUCH_DEARER),
        "2003's processor against today's; ours samples 32 chains at once, guided by EP, 640 draws",
    )


def _mean_and_sd(values: np.ndarray) -> str:
    return f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else "")


def _join(values) -> str:
    return ", ".join(str(v) for v in values)
