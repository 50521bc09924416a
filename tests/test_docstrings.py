"""Docstrings of public names are complete: numpydoc's own checks, on every name of the API page and its methods."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from softmargin import displays
from softmargin.criteria import CRITERIA
from softmargin.inference import INFERENCES
from softmargin.likelihoods import LIKELIHOODS, NoiseMixture, SampledMixture
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
    sections = ("See Also", "Examples") + (("References",) if part in LIKELIHOODS.values() else ())
    for section in sections:
        assert f"\n{section}\n---" in inspect.getdoc(part), f"{part.__name__} has no {section}"
