"""A practitioner's own file: labelled sequences as text or arrays, read or refused in one clear line."""

from .files import read as read
from .labelled import Labelled as Labelled
