"""The deep study's task on waves made here; the environment's DIE_AT names the step at which its process is killed."""

import os
from pathlib import Path

from foretune import datasets
from foretune.datasets import Dataset, Split
from foretune.study import deep, training


def waves(samples, seed, length=64):
    return Split(*datasets.binary_frequency(samples, seed, length))


def run(settings, progress=None, scratch=None):
    data = Dataset("waves", waves(80, 0), None, waves(30, 1), (0, 1), 64, 1, "made here")
    datasets.load = lambda name, *, ratio, seed: data.subset(ratio, seed)
    honest, steps = training.step, []

    def fatal(*arguments):
        steps.append(1)
        died = Path(os.environ["DIED"])
        if len(steps) == int(os.environ["DIE_AT"]) and not died.exists():
            died.touch()
            os.kill(os.getpid(), 9)
        return honest(*arguments)

    if "DIE_AT" in os.environ:
        training.step = fatal
    result = deep.run(settings, progress, scratch)
    if "DIED" in os.environ:
        Path(os.environ["DIED"]).write_text(f"{len(steps)} steps afterwards")
    return result
