"""What the settings of a plan, beside those that play a role, add to the name of an arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .plan import Plan, Run, canonical

__all__ = ["follows", "label", "shared"]


def follows(plan: Plan, axis: str, names: tuple[str, ...]) -> bool:
    """Whether a setting says nothing new beside the named ones, as a data set's own number of epochs."""
    places = {run.key: tuple(_hashable(run, name) for name in names) for run in plan.runs}
    return len({(places[run.key], _hashable(run, axis)) for run in plan.runs}) == len(set(places.values()))


def shared(plan: Plan, axis: str) -> dict[str, Any]:
    """What all tables of settings under one name have in common, so that only their differences need be told."""
    tables = [run.settings[axis] for run in plan.runs if isinstance(run.settings.get(axis), dict)]
    first = tables[0] if tables else {}
    return {name: value for name, value in first.items() if all(table.get(name) == value for table in tables)}


def label(axis: str, value: Any, common: Mapping[str, Any]) -> str:
    """A setting as a part of an arm's name."""
    if not isinstance(value, dict):
        return f"{axis}={value}"
    return ", ".join(f"{name}={item}" for name, item in value.items() if name not in common.get(axis, {}))


def _hashable(run: Run, name: str) -> str:
    return canonical(run.settings.get(name))
