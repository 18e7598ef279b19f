"""The paper's figures of the theory, from real data: each is a `compute` that returns tables and a `draw` of them."""

from .catalogue import FIGURES as FIGURES
from .catalogue import make as make
