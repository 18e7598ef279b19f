"""Everything foretune raises on purpose. Each message names the offending value and the remedy."""

__all__ = [
    "DataError",
    "DataMissing",
    "DependencyMissing",
    "DownloadFailed",
    "ForetuneError",
    "InitializationLost",
    "InputError",
    "StudyError",
    "UnknownLayer",
]


class ForetuneError(Exception):
    """Base class of every error that foretune raises on purpose."""


class InputError(ForetuneError, ValueError):
    """An argument or a data set that cannot be used as it is."""


class UnknownLayer(ForetuneError, TypeError):
    """A module in which foretune recognises no state-space layer; see `register_adapter`."""


class InitializationLost(ForetuneError, RuntimeError):
    """What `initialize_` wrote is no longer there."""


class DependencyMissing(ForetuneError, ImportError):
    """An optional package that this call needs is not installed."""


class DataError(ForetuneError, OSError):
    """A data file that cannot be read as what it should be."""


class DataMissing(DataError):
    """Files of a data set that are not at hand."""


class DownloadFailed(DataError):
    """Files of a data set that could not be fetched."""


class StudyError(ForetuneError, RuntimeError):
    """A study that cannot go on; what it has finished is kept."""
