"""The same classifier behind aeon's contract, for its pipelines, benchmarks and checks: `(n, C, L)` in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DependencyMissing
from .estimator import SSMClassifier

try:
    from aeon.classification.base import BaseClassifier
except ImportError as error:
    raise DependencyMissing("AeonSSMClassifier needs aeon: pip install 'foretune[compare]'") from error

__all__ = ["AeonSSMClassifier"]


class AeonSSMClassifier(BaseClassifier):
    """`SSMClassifier` as an aeon classifier; its arguments mean the same."""

    _tags = {  # noqa: RUF012 - aeon's own form
        "capability:multivariate": True,
        "algorithm_type": "convolution",
        "python_dependencies": "torch",
    }

    def __init__(
        self,
        head: str = "kernel",
        init: str = "auto",
        filters: int = 1500,
        model: str = "deep",
        epochs: int = 60,
        lr: float = 4e-3,
        random_state: Any = 0,
    ) -> None:
        self.head = head
        self.init = init
        self.filters = filters
        self.model = model
        self.epochs = epochs
        self.lr = lr
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: np.ndarray, y: np.ndarray) -> AeonSSMClassifier:
        self.classifier_ = SSMClassifier(**self.get_params(), channels="first").fit(X, y)
        return self

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.classifier_.predict(X)

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.classifier_.predict_proba(X)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"filters": 50}
