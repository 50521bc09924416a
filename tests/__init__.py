"""The tests; a package, so that `python -m tests.golden` finds this one before an installed package of that name."""
