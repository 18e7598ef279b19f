"""aeon's own checks of its contract, on the adapter: `pytest bench/aeon_checks.py` in the environment of `make compare`."""

from typing import Any

from aeon.testing.estimator_checking import parametrize_with_checks

from foretune.classify import AeonSSMClassifier


@parametrize_with_checks([AeonSSMClassifier])
def test_aeon_check(check: Any) -> None:
    check()
