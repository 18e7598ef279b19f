"""Studies: many runs of one pure function, spread over processes, kept, counted and compared."""

from .engine import Summary as Summary
from .engine import run as run
from .plan import Plan as Plan
from .plan import Run as Run
from .store import Record as Record
from .store import Store as Store
