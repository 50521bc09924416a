"""Results as JSON and Markdown, with the machine, the versions and the seeds that made them."""

import json
import platform
from importlib.metadata import version
from pathlib import Path

OUT = Path(__file__).parent / "out"


def machine() -> dict[str, str]:
    """What the numbers depend on."""
    import numpy
    import scipy
    import sklearn

    import softmargin

    return {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "softmargin": softmargin.__version__,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": version("numba"),
        "threads": "1",
    }


def table(header: list[str], rows: list[list[object]]) -> str:
    """A Markdown table."""
    cells = [header, ["---"] * len(header), *[[str(c) for c in row] for row in rows]]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def write(name: str, results: object, markdown: str) -> None:
    """Write benchmarks/out/NAME.json and NAME.md, and print the latter."""
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps({"machine": machine(), "results": results}, indent=1))
    (OUT / f"{name}.md").write_text(markdown + "\n")
    print(markdown)
