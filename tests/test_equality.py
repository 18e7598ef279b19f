"""Our layer is the s4 repository's, forward and backward: needs FORETUNE_S4_REPO, a checkout of state-spaces/s4."""

import logging
import os
from pathlib import Path

import pytest
import torch
from bench.equality import deviations, full_pair, minimal_pair


@pytest.fixture
def root():
    if not os.environ.get("FORETUNE_S4_REPO"):
        pytest.skip("FORETUNE_S4_REPO does not point to a checkout of state-spaces/s4")
    pytest.importorskip("einops", reason="the s4 repository's layers need einops")
    logging.disable()
    yield Path(os.environ["FORETUNE_S4_REPO"])
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("length", [64, 301])
@pytest.mark.parametrize("n_ssm", ["standalone", None, 4, 1])
def test_the_layer_is_that_of_the_s4_repository(root, n_ssm, length):
    torch.manual_seed(0)
    pair = minimal_pair(root, 8, 16) if n_ssm == "standalone" else full_pair(root, 8, 16, n_ssm)
    found = deviations(pair, torch.randn(3, 8, length))
    assert len(found) == 2 + len(pair.parameters)
    for name, sides in found.items():
        assert sides["ours, float64"] < 1e-11, name
        assert sides["ours, float32"] < 1e-5, name
