"""The API page lists every public name of every room."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs/api.rst").read_text(encoding="utf-8")
ROOMS = [
    "softmargin", "softmargin.comparison", "softmargin.criteria", "softmargin.datasets", "softmargin.displays",
    "softmargin.evidence", "softmargin.inference", "softmargin.inference.low_rank", "softmargin.inference.sites",
    "softmargin.kernels", "softmargin.least_squares", "softmargin.machines", "softmargin.metrics", "softmargin.policy",
    "softmargin.rows",
    "softmargin.sampling", "softmargin.search", "softmargin.svm", "softmargin.tables", "softmargin.tuning",
]  # fmt: skip


def listed():
    """Room -> names on the page."""
    names, room = {}, None
    for line in PAGE.splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            room = names.setdefault(found[1], set())
        elif (found := re.match(r" {3}(\w+)$", line)) or (
            found := re.match(r"\.\. (?:autodata|py:data):: (?:\S+\.)?(\w+)$", line)
        ):
            room.add(found[1])
    return names


@pytest.mark.parametrize("name", ROOMS)
def test_every_public_name_is_on_the_page_and_nothing_else(name):
    public = {entry for entry in importlib.import_module(name).__all__ if not entry.startswith("__")}
    assert listed()[name] == public


def test_every_likelihood_is_on_the_page():
    likelihoods = importlib.import_module("softmargin.likelihoods")
    assert {cls.__name__ for cls in likelihoods.LIKELIHOODS.values()} < listed()["softmargin.likelihoods"]
    # What methods of a likelihood return can be imported beside it.
    assert isinstance(likelihoods.EpsilonInsensitive().superposition(), likelihoods.Superposition)
    assert {"Superposition", "Kink"} < listed()["softmargin.likelihoods"]
    assert {"POLICY", "Policy"} <= listed()["softmargin.policy"]
