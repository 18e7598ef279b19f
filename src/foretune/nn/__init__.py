"""Layers and models as torch modules."""

from .deep import DeepS4D as DeepS4D
from .gain import unit_output_ as unit_output_
from .gain import unit_state_ as unit_state_
from .one_layer import ContractiveSSM as ContractiveSSM
from .one_layer import LinearSSM as LinearSSM
from .one_layer import StandardRNN as StandardRNN
from .s4d import S4D as S4D
