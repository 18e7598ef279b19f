"""Everything foretune raises on purpose. Each message names the offending value and the remedy."""

__all__ = ["DependencyMissing", "ForetuneError", "InitializationLost", "InputError", "StudyError", "UnknownLayer"]


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


class StudyError(ForetuneError, RuntimeError):
    """A study that cannot go on; what it has finished is kept."""
