"""Run benchmarks by name: ``python -m benchmarks [NAME ...] [--full]``. Without a name, list them."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    names = sorted(p.stem for p in HERE.glob("[a-z]*.py"))
    asked = [a for a in sys.argv[1:] if not a.startswith("-")]
    if not asked:
        print("usage: python -m benchmarks NAME [--full]\nnames:", ", ".join(names))
        return
    unknown = [name for name in asked if name not in names]
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(names)}")
    sys.argv = [sys.argv[0], *(a for a in sys.argv[1:] if a.startswith("-"))]
    for name in asked:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
