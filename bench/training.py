"""Inside real training: the one-layer models step by step, and what the task's spectrum costs beside an epoch."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from foretune import task_spectrum
from foretune.nn import LinearSSM, StandardRNN

from .final_state import BATCH, LENGTH, loop
from .measure import Row, fastest

SAMPLES, CLASSES = 60000, 10


class LoopSSM(LinearSSM):
    """The same model, stepping through time."""

    def final_state(self, u: Tensor) -> Tensor:
        return loop(u, self.W, self.W_in)


class PlainRNN(StandardRNN):
    """The same model on torch's own recurrence."""

    def final_state(self, u: Tensor) -> Tensor:
        last: Tensor = self.rnn(u.unsqueeze(-1))[1].squeeze(0)
        return last


def trainer(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    """One step of the paper's training: AdamW with clipped gradients."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)

    def step(X: Tensor, y: Tensor) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def epoch(step: Callable[[Tensor, Tensor], None], X: Tensor, y: Tensor) -> None:
    for batch in torch.randperm(len(X)).split(BATCH):
        step(X[batch], y[batch])


def rows() -> list[Row]:
    torch.manual_seed(0)
    X, y = torch.rand(SAMPLES, LENGTH), torch.randint(CLASSES, (SAMPLES,))
    batch = X[:BATCH], y[:BATCH]
    ssm = {"loop": trainer(LoopSSM(CLASSES)), "fast": trainer(LinearSSM(CLASSES))}
    rnn = {"torch": trainer(PlainRNN(CLASSES)), "fast": trainer(StandardRNN(CLASSES))}
    found = []
    for what, sides, slow, target in (
        ("training step of LinearSSM", ssm, "loop", 30.0),
        ("training step of StandardRNN", rnn, "torch", 1.0),
    ):
        times = fastest({name: partial(step, *batch) for name, step in sides.items()})
        found.append(_row(f"{what}, (B,L) = {(BATCH, LENGTH)}", times[slow], times["fast"], target))
    times = fastest({"epoch": partial(epoch, ssm["fast"], X, y), "spectrum": partial(task_spectrum, X, y)}, rounds=2)
    found.append(_row(f"an epoch, against Fisher of {SAMPLES} × {LENGTH}", times["epoch"], times["spectrum"], 5.0))
    return found


def _row(what: str, slow: float, fast: float, target: float) -> Row:
    return Row(what, f"{1e3 * slow:.1f} ms", f"{1e3 * fast:.2f} ms", slow / fast, target)
