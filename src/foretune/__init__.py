"""foretune: tune a state-space model's prior to the task before training it."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import datasets as datasets
from . import nn as nn
from . import study as study
from . import tables as tables
from . import theory as theory
from .diagnosis import Diagnosis as Diagnosis
from .diagnosis import diagnose as diagnose
from .errors import DataError as DataError
from .errors import DataMissing as DataMissing
from .errors import DependencyMissing as DependencyMissing
from .errors import DownloadFailed as DownloadFailed
from .errors import ForetuneError as ForetuneError
from .errors import InitializationLost as InitializationLost
from .errors import InputError as InputError
from .errors import StudyError as StudyError
from .errors import UnknownLayer as UnknownLayer
from .init import Adapter as Adapter
from .init import Initialization as Initialization
from .init import Settings as Settings
from .init import alignment as alignment
from .init import initialize_ as initialize_
from .init import model_spectrum as model_spectrum
from .init import register_adapter as register_adapter
from .init import spectral_loss as spectral_loss
from .init import tune as tune
from .init import verify as verify
from .nn.optim import parameter_groups as parameter_groups
from .spectra import Spectrum as Spectrum
from .spectra import task_spectrum as task_spectrum
from .spectra import task_spectrum_from_batches as task_spectrum_from_batches
from .ssm import DiagonalSSM as DiagonalSSM
from .ssm import RealSSM as RealSSM

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from .classify import SSMClassifier as SSMClassifier


def __getattr__(name: str) -> _Any:
    if name == "SSMClassifier":  # scikit-learn is imported when it is asked for
        from .classify import SSMClassifier

        return SSMClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
