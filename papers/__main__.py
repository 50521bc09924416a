"""Run papers by name: ``python -m papers [NAME ...] [--full] [--budget SECONDS]``; without a name, all of them."""

import argparse
import shutil
from importlib import import_module
from pathlib import Path

from threadpoolctl import threadpool_limits

from papers._claims import section, update
from papers._pieces import OutOfBudgetError, Pieces, commit, script

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("[a-z]*.py"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--full", action="store_true", help="the papers' trial counts instead of a few")
    parser.add_argument("--budget", type=float, default=float("inf"), help="CPU seconds; run again to go on")
    parser.add_argument("--partial", action="store_true", help='write "not run" for what the budget leaves out')
    parser.add_argument("--fresh", action="store_true", help="forget the pieces of earlier runs")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="where pictures go")
    parser.add_argument("--results", type=Path, help="the summary to renew (RESULTS.md; with --full, FULL.md)")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown paper {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    import matplotlib

    matplotlib.use("Agg")
    results = options.results or HERE / ("FULL.md" if options.full else "RESULTS.md")
    options.out.mkdir(parents=True, exist_ok=True)
    mode = "full" if options.full else "reduced"
    if options.fresh:
        shutil.rmtree(options.out / "pieces" / mode, ignore_errors=True)
    commit()  # Before any script runs: what is committed meanwhile is not what was loaded.
    for name in options.names or NAMES:
        module = import_module(f"papers.{name}")
        title = (module.__doc__ or name).strip().splitlines()[0]
        print(f"{name}: {title}", flush=True)
        pieces = Pieces(options.out / "pieces" / mode, options.budget, options.partial, script=script(name))
        try:
            with threadpool_limits(1):
                claims = module.run(options.out, pieces, full=options.full)
        except OutOfBudgetError as left:
            print(f"  stopped before {left}; run the same command again to go on", flush=True)
            return
        # After every paper, so that an interrupted run keeps what it has.
        counts = module.counts(full=options.full)
        text = section(title, claims, pieces.seconds, counts, pieces.origin, full=options.full)
        update(results, {name: text}, NAMES, full=options.full)
        if options.full and (reduced := results.with_name("RESULTS.md")).exists():
            # Its list of the verdicts that these counts change.
            update(reduced, {}, NAMES)
        for claim in claims:
            print(f"  {claim.item}: {claim.agrees}: {claim.ours}", flush=True)
    print(f"summary: {results}; pictures: {options.out}")


if __name__ == "__main__":
    main()
