"""scikit-learn's own checks of the contract, none of them expected to fail."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import foretune as ft

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([ft.SSMClassifier(filters=100), ft.SSMClassifier(filters=30, init="task")])
def test_kernel_head(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([ft.SSMClassifier(head="train", epochs=20)])
def test_trained_head(estimator, check):
    check(estimator)


def test_without_scikit_learn_the_remedy_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import foretune as ft\n"
        "try: ft.SSMClassifier\n"
        "except ft.DependencyMissing as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "foretune[classifier]" in run.stdout


@pytest.mark.skipif(importlib.util.find_spec("aeon") is not None, reason="aeon is installed")
def test_without_aeon_the_remedy_is_named():
    from foretune import classify

    with pytest.raises(ft.DependencyMissing, match=r"foretune\[compare\]"):
        _ = classify.AeonSSMClassifier


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "contains NaN"), (np.inf, "infinity"), (1e200, "beyond the largest")]
)
def test_values_that_cannot_be_used_are_an_input_error(value, message):
    X, y = ft.datasets.binary_frequency(20)
    spoiled = X.astype(float)
    spoiled[3, 4] = value
    with pytest.raises(ft.InputError, match=message):
        ft.SSMClassifier().fit(spoiled, y)
    with pytest.raises(ft.InputError, match=message):
        ft.SSMClassifier(filters=10).fit(X, y).predict(spoiled)
