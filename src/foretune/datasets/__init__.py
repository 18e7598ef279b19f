"""Data sets of the paper."""

from .synthetic import binary_frequency as binary_frequency
from .synthetic import frequency_classification as frequency_classification
