"""scikit-learn's own checks of the contract."""

import pytest

import foretune as ft

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [
    ft.SSMClassifier(filters=100),
    ft.SSMClassifier(head="train", epochs=20),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
