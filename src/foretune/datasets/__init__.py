"""Data sets of the paper: `load` by name, readers of the official formats, generators."""

from .base import Dataset as Dataset
from .base import Rows as Rows
from .base import Split as Split
from .base import subset_indices as subset_indices
from .cifar import read_cifar_batch as read_cifar_batch
from .download import Remote as Remote
from .download import fetch as fetch
from .entries import Entry as Entry
from .generated_listops import generate_listops as generate_listops
from .generated_pathfinder import generate_pathfinder as generate_pathfinder
from .listops import read_listops_file as read_listops_file
from .mnist import read_idx as read_idx
from .registry import at_hand as at_hand
from .registry import catalogue as catalogue
from .registry import fetch_files as fetch_files
from .registry import load as load
from .registry import names as names
from .speech import read_speech_clips as read_speech_clips
from .synthetic import binary_frequency as binary_frequency
from .synthetic import frequency_classification as frequency_classification
from .ucr import read_ucr_file as read_ucr_file
