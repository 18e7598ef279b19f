"""The scikit-learn face of it all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import DependencyMissing, InputError
from .bank import Design
from .kernel import Init, KernelHead, fit_kernel
from .ridge import probabilities
from .trained import Model, TrainedHead, Training, fit_trained

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise DependencyMissing("SSMClassifier needs scikit-learn: pip install 'foretune[classifier]'") from error

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["SSMClassifier"]

Channels = Literal["auto", "last", "first"]


class SSMClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of sequences by state-space filters.

    Args:
        head: `"kernel"`, fixed filters and a ridge in closed form, or `"train"`, a model trained by gradients.
        init: where the filters listen: at log-spaced frequencies (`"default"`), where the task's spectrum on the training
            samples is high (`"task"`), or whichever of the two, or half of each, has the lower leave-one-out error by
            more than chance (`"auto"`). With `head="train"`, `"task"` is task-dependent initialization, and `"auto"`
            asks what a kernel head would choose.
        filters: how many filters `head="kernel"` has.
        channels: where the channels of three-dimensional input are: `"last"` `(n, L, C)`, `"first"` `(n, C, L)` as in
            aeon, or `"auto"`: the longer of the two axes is time, the last one holds the channels where they tie.
        model: for `head="train"`: `"deep"`, or the one-layer `"contractive"` and `"linear"`, which take one channel.
        epochs, lr: for `head="train"`; more epochs are run where samples are so few that they hold hardly any steps.
        random_state: decides every random draw; an int, a `RandomState` or None.

    After fitting: `classes_`, `n_features_in_` (steps), `n_channels_in_`, `layout_` (where the channels were), `head_`,
    and `evidence_`, what chose the placement.
    """

    def __init__(
        self,
        head: Literal["kernel", "train"] = "kernel",
        init: Init = "auto",
        *,
        filters: int = 1500,
        channels: Channels = "auto",
        model: Model = "deep",
        epochs: int = 60,
        lr: float = 4e-3,
        random_state: Any = 0,
    ) -> None:
        self.head = head
        self.init = init
        self.filters = filters
        self.channels = channels
        self.model = model
        self.epochs = epochs
        self.lr = lr
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any) -> SSMClassifier:
        """Learn from sequences `(n, L)`, `(n, L, C)` or `(n, C, L)` and one label each."""
        if self.head not in ("kernel", "train"):
            raise InputError(f"head is {self.head!r}; use 'kernel' or 'train'")
        if self.channels not in ("auto", "last", "first"):
            raise InputError(f"channels is {self.channels!r}; use 'auto', 'last' or 'first'")
        X = _as_array(X)
        layout = self._layout(X.shape) if X.ndim == 3 else "last"
        X = np.swapaxes(X, 1, 2) if layout == "first" else X
        X, y = validate_data(self, X, y, allow_nd=True, ensure_min_samples=2, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.layout_ = layout
        self.n_channels_in_ = X.shape[2] if X.ndim == 3 else 1
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"every sample is of the class {self.classes_[0]!r}; a task needs at least two classes")
        sequences, seed = _as_tensor(X), self._seed()
        self.head_: KernelHead | TrainedHead
        if self.head == "kernel":
            design = Design(filters=self.filters)
            self.head_ = fit_kernel(sequences, codes, len(self.classes_), self.init, design, seed)
        else:
            training = Training(self.model, self.epochs, self.lr)
            self.head_ = fit_trained(sequences, codes, len(self.classes_), self.init, training, seed)
        self.evidence_ = self.head_.evidence
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores `(n, classes)`; for two classes `(n,)`, above 0 for the second."""
        scores = self._scores(X)
        return (scores[:, 1] - scores[:, 0]) / 2 if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities `(n, classes)`: a softmax of the scores, sharpened as samples left out of training ask for."""
        return probabilities(self._scores(X), self.head_.sharpness)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each sequence."""
        best = self._scores(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def save(self, folder: str | Path) -> Path:
        """Write the fitted classifier as `classifier.json` and `classifier.safetensors`; see `load`."""
        from .files import save

        check_is_fitted(self)
        return save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> SSMClassifier:
        """The classifier that `save` wrote."""
        from .files import load

        return load(cls, Path(folder))

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = _as_array(X)
        X = np.swapaxes(X, 1, 2) if X.ndim == 3 and self.layout_ == "first" else X
        X = validate_data(self, X, allow_nd=True, reset=False, dtype=[np.float64, np.float32])
        sequences = _as_tensor(X)
        if sequences.shape[2] != self.n_channels_in_:
            raise InputError(f"X has {sequences.shape[2]} channels, but the training data had {self.n_channels_in_}")
        scores: np.ndarray = self.head_(sequences).numpy()
        return scores

    def _layout(self, shape: tuple[int, ...]) -> str:
        if self.channels == "auto":
            return "first" if shape[1] < shape[2] else "last"
        return self.channels

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def _as_array(X: Any) -> Any:
    """Lists and tensors as an array; frames and sparse matrices as they are, for scikit-learn to judge."""
    if isinstance(X, Tensor):
        return X.detach().cpu().numpy()
    if hasattr(X, "shape") and hasattr(X, "ndim"):
        return X
    try:
        return np.asarray(X)
    except ValueError as error:
        raise InputError("X is ragged: its sequences differ in length; pad or cut them first") from error


def _as_tensor(X: np.ndarray) -> Tensor:
    """`(P, L, C)`."""
    if X.ndim not in (2, 3):
        raise InputError(f"X has shape {X.shape}; pass (samples, length) or (samples, length, channels)")
    tensor = torch.from_numpy(np.array(X, order="C"))  # a copy: torch wants writable memory
    return tensor.unsqueeze(-1) if tensor.ndim == 2 else tensor
