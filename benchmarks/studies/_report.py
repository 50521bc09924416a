"""What a study keeps: its rows and its tables in benchmarks/results/NAME.json, from where the report takes them."""

import json

from benchmarks._results import RESULTS, environment, source_commit
from benchmarks._tables import table

__all__ = ["table", "write"]


def write(name: str, results: object, markdown: str) -> None:
    """Write benchmarks/results/NAME.json and print the tables."""
    content = {
        "command": f"python -m benchmarks {name}",
        "environment": environment(),
        "commit": source_commit(),
        "tables": markdown.splitlines(),
        "results": results,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    print(markdown)
