"""Data sets of the paper."""

from .base import Dataset as Dataset
from .base import Rows as Rows
from .base import Split as Split
from .base import subset_indices as subset_indices
from .registry import catalogue as catalogue
from .registry import load as load
from .registry import names as names
from .synthetic import binary_frequency as binary_frequency
from .synthetic import frequency_classification as frequency_classification
