"""What `import foretune` costs on top of `import torch`, and that it pulls in nothing optional."""

import subprocess
import sys

from .measure import Row

LIMIT = 0.3
CODE = """
import time, sys, torch, numpy
start = time.perf_counter()
import foretune
print(time.perf_counter() - start)
print(",".join(name for name in ("sklearn", "matplotlib", "ray", "aeon") if name in sys.modules))
"""


def rows() -> list[Row]:
    best, pulled = float("inf"), ""
    for _ in range(4):
        run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        seconds, pulled = run.stdout.split("\n")[:2]
        best = min(best, float(seconds))
    note = f"pulls in {pulled}" if pulled else ""
    return [Row("import foretune, after torch", f"limit {LIMIT} s", f"{best:.3f} s", LIMIT / best, 1.0, note)]
