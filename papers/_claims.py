"""A paper's claims beside what we measure, as a Markdown table."""

from dataclasses import dataclass
from pathlib import Path

OUT = Path(__file__).parent / "out"


@dataclass(frozen=True)
class Claim:
    """One row: what the paper says, its number, ours, whether they agree, and why (not)."""

    where: str
    claim: str
    paper: str
    ours: str
    agrees: bool
    why: str = ""


def write_claims(name: str, title: str, claims: list[Claim]) -> str:
    """Write papers/out/NAME.md and return its text."""
    lines = [f"## {title}", "", "| where | claim | paper | ours | agrees | remark |", "|---|---|---|---|---|---|"]
    for c in claims:
        cells = [c.where, c.claim, c.paper, c.ours, "yes" if c.agrees else "no", c.why]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    text = "\n".join(lines) + "\n"
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.md").write_text(text)
    return text
