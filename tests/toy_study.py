"""A task for the tests of the study engine: quick, deterministic, and able to misbehave on request."""

import os
import time
from pathlib import Path

import numpy as np
import torch


def cost(settings):
    return settings.get("cost", 1.0)


def learn(settings, *, progress=None, scratch=None):
    """A noisy learning curve; the environment's TOY_LOG names a file that counts the calls."""
    if os.environ.get("TOY_LOG"):
        with open(os.environ["TOY_LOG"], "a") as file:
            file.write(f"{settings['dataset']} {settings['ratio']} {settings['seed']} {settings['arm']}\n")
    rng = np.random.default_rng([settings["seed"], int(1000 * settings["ratio"]), len(settings["arm"])])
    level = 0.5 + 0.4 * settings["ratio"] + (0.05 if settings["arm"] == "tdi" else 0.0)
    accuracy, loss = [], []
    for epoch in range(settings["epochs"]):
        time.sleep(settings.get("pause", 0.0))
        misbehave(settings, epoch, scratch)
        accuracy.append(float(np.clip(level - 0.3 / (epoch + 1) + 0.02 * rng.standard_normal(), 0, 1)))
        loss.append(float(-np.log(accuracy[-1] + 1e-3)))
        if progress is not None:
            progress((epoch + 1) / settings["epochs"])
    if settings.get("trouble") == "nan":
        loss[-1] = float("nan")
    return {"test_accuracy": accuracy, "test_loss": loss, "threads": torch.get_num_threads()}


def misbehave(settings, epoch, scratch):
    trouble = settings.get("trouble")
    if trouble == "raise" and epoch == 1:
        raise ValueError("the toy is broken")
    if trouble == "die" and epoch == 1:
        os.kill(os.getpid(), 9)
    if trouble == "die once" and epoch == 1:
        mark = Path(scratch) / "died"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), 9)
    if trouble == "full":
        raise OSError(28, "No space left on device")


def not_json(settings):
    return {"test_accuracy": object()}
