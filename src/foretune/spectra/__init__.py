"""Task spectra: which frequencies of the input carry the information about the target."""

from .spectrum import Spectrum as Spectrum
from .task import task_spectrum as task_spectrum
from .task import task_spectrum_from_batches as task_spectrum_from_batches
