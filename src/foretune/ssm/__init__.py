"""State-space models as immutable parameters and pure functions on them."""

from .diagonal import DiagonalSSM as DiagonalSSM
from .real import RealSSM as RealSSM
