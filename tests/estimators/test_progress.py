"""What `verbose` writes, and where."""

import logging

import numpy as np
import pytest

from softmargin import BayesianSVC, BayesianSVR
from softmargin._compiled import Compiling

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.3 * RNG.standard_normal(30)


@pytest.mark.parametrize("estimator", [BayesianSVC, BayesianSVR])
def test_lines_on_the_standard_output(estimator, capsys, caplog):
    # pytest listens at INFO: a program without logging of its own does not.
    caplog.set_level(logging.WARNING)
    target = Y if estimator is BayesianSVR else Y > 0
    estimator(max_iter=3).fit(X, target)
    assert capsys.readouterr().out == ""
    estimator(max_iter=3, verbose=1).fit(X, target)
    few = capsys.readouterr().out.splitlines()
    assert few[0].startswith("softmargin: evaluation 1, ") and "objective" in few[0]
    assert few[-1].startswith("softmargin: fitted with ") and few[-1].endswith(" s")
    estimator(max_iter=3, verbose=2).fit(X, target)
    many = capsys.readouterr().out.splitlines()
    assert len(many) == int(many[-1].split()[3]) + 1 > len(few)
    assert not logging.getLogger("softmargin").handlers


def test_a_program_with_logging_of_its_own_gets_the_lines_there(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="softmargin"):
        BayesianSVC(max_iter=2, verbose=1).fit(X, Y > 0)
    assert capsys.readouterr().out == ""
    assert any("fitted with" in record.message for record in caplog.records)


def test_an_interrupt_leaves_no_handler(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("softmargin.estimators.classifier.fit_classification", interrupt)
    with pytest.raises(KeyboardInterrupt):
        BayesianSVC(verbose=1).fit(X, Y > 0)
    assert not logging.getLogger("softmargin").handlers


def test_nested_compilations_count_once(monkeypatch, caplog):
    ticks = iter([1.0, 5.0, 7.0, 8.5])
    monkeypatch.setattr("softmargin._compiled.time.perf_counter", lambda: next(ticks))
    compiling = Compiling()
    with caplog.at_level(logging.INFO, logger="softmargin"):
        for step in (compiling.begin, compiling.begin, compiling.end, compiling.end, compiling.begin, compiling.end):
            step()
    assert compiling.seconds == 5.5
    assert [record.message for record in caplog.records if "compiled once" in record.message] != []
    assert len(caplog.records) == 1
