"""Run benchmarks by name: ``python -m benchmarks NAME [options]``. Without a name, list them."""

import ast
import pkgutil
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def commands() -> dict[str, str]:
    """Module of every command by its name: the public modules here and in studies."""
    found = {}
    for package in ("", "studies.", "studies.large."):
        for module in pkgutil.iter_modules([str(HERE / package.replace(".", "/"))]):
            if not module.name.startswith("_") and not module.ispkg:
                found[module.name] = f"benchmarks.{package}{module.name}"
    return found


def summary(module: str) -> str:
    """The first line of a module's docstring, read without importing it."""
    path = HERE.parent / (module.replace(".", "/") + ".py")
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]


def main() -> None:
    known = commands()
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("usage: python -m benchmarks NAME [options]\n")
        for name, module in known.items():
            print(f"{name:16s}{summary(module)}")
        return
    name = sys.argv.pop(1)
    if name not in known:
        sys.exit(f"unknown benchmark {name}; choose from {', '.join(known)}")
    sys.argv[0] = f"benchmarks {name}"
    runpy.run_module(known[name], run_name="__main__")


if __name__ == "__main__":
    main()
