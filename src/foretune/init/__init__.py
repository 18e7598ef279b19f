"""Task-dependent initialization: peaks, refinement, in place on any layer, and its verification."""

from . import dense_layers as dense_layers
from . import joint_layers as joint_layers
from . import s4_layers as s4_layers
from .adapters import Adapter as Adapter
from .adapters import register_adapter as register_adapter
from .apply import initialize_ as initialize_
from .apply import verify as verify
from .match import alignment as alignment
from .match import model_spectrum as model_spectrum
from .match import spectral_loss as spectral_loss
from .record import Initialization as Initialization
from .record import Settings as Settings
from .tune import tune as tune
