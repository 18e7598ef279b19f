"""Layers and models as torch modules."""

from .s4d import S4D as S4D
