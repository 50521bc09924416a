"""Docstrings of public names are complete: numpydoc's own checks, on every name of the API page and its methods."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from softmargin import comparison, criteria, displays, evidence, generative, search
from softmargin.criteria import CRITERIA
from softmargin.inference import INFERENCES, REPRODUCTIONS
from softmargin.likelihoods import LIKELIHOODS, NoiseMixture, SampledMixture
from softmargin.sampling import SAMPLERS
from softmargin.search import SEARCHES

validate = pytest.importorskip("numpydoc.validate").validate

PAGE = (Path(__file__).parents[1] / "docs/api.rst").read_text(encoding="utf-8")
# There is one, with known sections in their order; it names no parameter that does not exist, in the order of the
# signature, and gives each a type and a description.
EVERYWHERE = {"GL03", "GL06", "GL07", "GL08", "SS01", "SS03", "PR02", "PR03", "PR04", "PR07", "RT03"}
# What users call: every parameter and what comes back is described.
FOR_USERS = EVERYWHERE | {"PR01", "RT01", "SS05", "YD01"}
FOR_ESTIMATORS = FOR_USERS | {"SA01", "EX01"}
USER_ROOMS = ("softmargin", "softmargin.metrics", "softmargin.datasets", "softmargin.generative")


def public():
    """Room and name of everything on the page."""
    room, found = None, []
    for line in PAGE.splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            room = match[1]
        elif match := re.match(r" {3}(\w+)$", line):
            found.append((room, match[1]))
    return found


def members(room, name):
    """The name itself and, of a class, the functions and properties that it or a base of ours defines."""
    thing = getattr(importlib.import_module(room), name)
    bases = inspect.getmro(thing) if inspect.isclass(thing) else ()
    ours = [vars(base) for base in bases if base.__module__.startswith("softmargin")]
    found = {key: value for own in reversed(ours) for key, value in own.items() if not key.startswith("_")}
    return [None, *(key for key, value in found.items() if inspect.isfunction(value) or isinstance(value, property))]


def wanted(room, name, member):
    if room not in USER_ROOMS:
        return EVERYWHERE
    if name in ("BayesianSVC", "BayesianSVR"):
        return FOR_USERS if member else FOR_ESTIMATORS
    thing = getattr(importlib.import_module(room), name)
    # The fields of records have a line of their own below each.
    return EVERYWHERE if inspect.isclass(thing) and name != "BaggedSelection" else FOR_USERS


@pytest.mark.parametrize(("room", "name"), public())
def test_docstrings_are_complete(room, name):
    for member in members(room, name):
        path = ".".join(filter(None, (room, name, member)))
        checks = wanted(room, name, member)
        problems = [f"{code} {text}" for code, text in validate(path)["errors"] if code in checks]
        assert not problems, f"{path}: {'; '.join(problems)}"


PARTS = [
    *INFERENCES.values(),
    *CRITERIA.values(),
    *SEARCHES.values(),
    *LIKELIHOODS.values(),
    NoiseMixture,
    SampledMixture,
]
DISPLAYS = [thing for name, thing in vars(displays).items() if name.endswith("Display")]


@pytest.mark.parametrize("part", [*PARTS, *DISPLAYS], ids=lambda p: p.__name__)
def test_parts_name_their_alternatives_and_show_their_use(part):
    for section in ("See Also", "Examples"):
        assert f"\n{section}\n---" in inspect.getdoc(part), f"{part.__name__} has no {section}"


METHODS = [
    *(INFERENCES | REPRODUCTIONS | CRITERIA | SEARCHES | LIKELIHOODS).values(), *SAMPLERS.values(),
    *(getattr(evidence, name) for name in ("Chaining", "chain", "input_weights", "log_evidence", "naive_evidence")),
    *(getattr(generative, name) for name in ("Dataset", "sample_datasets", "sample_effective_prior", "sample_prior")),
    *(getattr(criteria, name) for name in ("kwok_levels", "leave_one_out", "leave_one_out_margins", "span_margins")),
    evidence.normaliser, comparison.BaggedSelection, comparison.choose_C, search.PaperRule, search.AdamRule,
]  # fmt: skip
# The equations that each paper has.
EQUATIONS = {
    "Sollich (2002)": {str(k) for k in range(1, 38)},
    "Gold & Sollich (2003)": {str(k) for k in range(1, 24)},
    "Gao, Gunn & Harris (2003)": {
        f"{part}.{k}" for part, last in ((2, 7), (3, 12), (5, 3)) for k in range(1, last + 1)
    },
    "Sollich (2000)": {str(k) for k in range(1, 9)},
    "Kwok (1999)": {str(k) for k in range(1, 5)},
}


def cited(references):
    """Pairs of a paper of ours and what is cited of it."""
    start = re.compile("|".join(re.escape(paper) for paper in EQUATIONS))
    places = [*start.finditer(references)]
    ends = [place.start() for place in places[1:]] + [len(references)]
    # "Gold & Sollich (2003)" is one match, and no "Sollich (2003)" exists.
    return [(place[0], references[place.end() : end]) for place, end in zip(places, ends)]


@pytest.mark.parametrize("method", METHODS, ids=lambda p: p.__name__)
def test_methods_name_their_paper_and_its_equations(method):
    found = re.search(r"\nReferences\n-+\n(.+?)(\n\n|$)", inspect.getdoc(method), flags=re.DOTALL)
    assert found, f"{method.__name__} has no References"
    references = " ".join(found[1].split())
    assert re.search(r"\(\d{4}\)", references), references
    for paper, place in cited(references):
        assert re.search(r"\b(eqs?\.|sections?|note|figures?|table) ", place), (paper, place)
        for numbers in re.findall(r"\beqs?\. ([\d., and to]+)", place):
            equations = set(re.findall(r"\d+(?:\.\d+)?", numbers))
            assert equations <= EQUATIONS[paper], (paper, equations)
