"""A classifier of sequences for people who want an answer: state-space filters behind scikit-learn's contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aeon import AeonSSMClassifier as AeonSSMClassifier
    from .estimator import SSMClassifier as SSMClassifier

__all__ = ["AeonSSMClassifier", "SSMClassifier"]


def __getattr__(name: str) -> Any:
    if name == "SSMClassifier":  # scikit-learn and aeon are imported when they are asked for
        from .estimator import SSMClassifier

        return SSMClassifier
    if name == "AeonSSMClassifier":
        from .aeon import AeonSSMClassifier

        return AeonSSMClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
