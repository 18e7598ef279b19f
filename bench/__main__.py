"""Print every ratio that the documentation states; name parts to run only those."""

import sys

from rich.console import Console
from rich.table import Table

from . import convolution, deep_training, eigensystem, final_state, importing, training
from .measure import Row

PARTS = {
    "final-state": final_state.rows,
    "training": training.rows,
    "convolution": convolution.rows,
    "deep": deep_training.rows,
    "eigensystem": eigensystem.rows,
    "import": importing.rows,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
        return 2
    rows: list[Row] = []
    console = Console(width=140 if not sys.stdout.isatty() else None)
    for name in names or PARTS:
        with console.status(name):
            rows += PARTS[name]()
    table = Table(title="ratios, both sides interleaved in one process")
    for title in ("what", "plain", "foretune", "ratio", "target", "error"):
        table.add_column(title, justify="left" if title == "what" else "right")
    for row in rows:
        mark = "" if row.good else "  missed"
        table.add_row(row.what, row.slow, row.fast, f"{row.ratio:.1f}×", f"≥ {row.target:g}×{mark}", row.error)
    console.print(table)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
