"""The main job on built-in data: diagnose two tasks, train default, tuned and control, and show what helped."""

from .show import run as run
