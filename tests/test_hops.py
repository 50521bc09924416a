"""The list of hops in the architecture page is that of a real fit, short and without a jump back."""

import functools
import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MOST = 25


def tracer():
    spec = importlib.util.spec_from_file_location("hops", DOCS / "hops.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # A traced fit takes seconds.
    module.trace = functools.cache(module.trace)
    return module


@pytest.fixture(scope="module")
def hops():
    return tracer()


@pytest.mark.parametrize("regressor", [False, True])
def test_a_fit_takes_few_hops_and_never_jumps_back(hops, regressor):
    found = hops.trace(regressor=regressor)
    kinds = [hop.kind for hop in found]
    assert 15 < kinds.count("hop") <= MOST
    assert [hop for hop in found if hop.kind == "jump"] == []


def test_the_architecture_page_lists_them(hops):
    found = hops.trace(regressor=False)
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ *\d+ (\w+) -> (\w+): .*?( \(through a protocol\))?$", page, flags=re.MULTILINE))
    through = {"hop": "", "protocol": " (through a protocol)"}
    assert listed == {(hop.source, hop.target, through[hop.kind]) for hop in found}
    assert hops.listing(found).splitlines()[-1] in page


def test_the_tracer_tells_a_protocol_from_a_jump(hops):
    from softmargin.search import LBFGS

    class Frame:
        def __init__(self, owner, name):
            self.f_locals = {"self": owner}
            self.f_code = type("code", (), {"co_name": name})

    from softmargin.least_squares import LooObjective

    objective = LooObjective.__new__(LooObjective)
    assert hops.is_through_protocol(Frame(objective, "__call__"), "search")
    # Not a method of the protocol, not a protocol of that room, no object at all.
    assert not hops.is_through_protocol(Frame(objective, "callback"), "search")
    assert not hops.is_through_protocol(Frame(objective, "__call__"), "inference")
    assert not hops.is_through_protocol(Frame(LBFGS(), "maximise"), "search")
    assert not hops.is_through_protocol(Frame(None, "__call__"), "search")
