"""Golden numbers: the same fits give what they gave when the numbers were recorded.

A change that is meant to alter them rewrites the file: ``python -m tests.golden record``.
"""

import pytest

from .configurations import CONFIGURATIONS, evaluate
from .record import differences, exact_asked, load

RECORDED = load()


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_numbers_are_as_recorded(name):
    """Within tolerances that survive another processor; bit by bit with SOFTMARGIN_GOLDEN_EXACT=1."""
    assert name in RECORDED, "run `python -m tests.golden record`"
    assert differences(evaluate(name), RECORDED[name], exact=exact_asked()) == {}


def test_every_configuration_is_recorded_and_none_is_stale():
    assert set(RECORDED) == set(CONFIGURATIONS)
