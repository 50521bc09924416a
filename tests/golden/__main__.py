"""Record the golden numbers, or compare with them: ``python -m tests.golden record`` or ``compare [--exact]``."""

import argparse
import sys
import time

from .configurations import CONFIGURATIONS, evaluate
from .record import differences, load, save


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code is 1 if numbers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record", help="rewrite the file of recorded numbers")
    compare = commands.add_parser("compare", help="print the names that differ from the recorded numbers")
    compare.add_argument("--exact", action="store_true", help="ask for equal bits instead of the tests' tolerance")
    options = parser.parse_args(arguments)
    start = time.process_time()
    numbers = {name: evaluate(name) for name in CONFIGURATIONS}
    seconds = time.process_time() - start
    if options.command == "record":
        save(numbers)
        sys.stdout.write(f"recorded {len(numbers)} configurations in {seconds:.0f} CPU s\n")
        return 0
    recorded, bad = load(), 0
    for name in sorted(numbers.keys() | recorded.keys()):
        if name not in recorded or name not in numbers:
            found = {"stale: recorded, but no configuration" if name in recorded else "not recorded": float("inf")}
        else:
            found = differences(numbers[name], recorded[name], exact=options.exact)
        bad += bool(found)
        for key, difference in found.items():
            sys.stdout.write(f"{name}: {key}: relative difference {difference:.2g}\n")
    sys.stdout.write(f"{bad} of {len(numbers)} configurations differ ({seconds:.0f} CPU s)\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
