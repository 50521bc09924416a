"""The papers behind softmargin, reproduced: every figure and table, claim by claim, beside what we measure.

``python -m papers [NAME ...] [--full]`` runs them, draws ``papers/out/*.png`` and writes ``papers/RESULTS.md``. A
script ``papers/NAME.py`` has a docstring (its first line is the heading), and ``run(out, full=False) -> list[Claim]``.
"""
