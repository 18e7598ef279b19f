"""Each of the paper's eight recipes trains 20 real steps through the study engine, on files in the official forms.

`pytest -s -m slow tests/test_recipes.py` runs the recipes as they are, and prints what came out.
"""

import json
from pathlib import Path

import pytest

from foretune.study import Plan, Store, run
from recipe_files import SETS, make

pytest.importorskip("PIL.Image", reason="PathFinder's images need pillow")
STEPS = 20
RATIO = {"Freq. Cls.": 0.2, "sMNIST": 0.05, "pMNIST": 0.05}  # the others' files are small
NARROW = {"d_model": 4, "depth": 2, "d_state": 8}
PAPER = [run.settings for run in Plan.load("deep").runs if run.settings["profile"] == "paper"]
DEEP = {settings["dataset"]: settings for settings in PAPER if settings["arm"] == "tdi"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("official")
    return root, make(root)


def plan(root, datasets, **changes):
    """One run of each set's recipe, cut to so many steps."""
    grids = []
    for name in datasets:
        settings = (
            DEEP[name] | {"ratio": RATIO.get(name, 1.0), "seed": 0, "max_steps": STEPS, "root": str(root)} | changes
        )
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items() if key != "tdi"]
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings["tdi"].items())
        grids.append("\n".join(["[[grid]]", *lines, f"tdi = {{ {table} }}"]))
    text = "\n".join(['name = "recipes"', 'task = "recipe_files:run"', *grids])
    return Plan.parse(text, Path(__file__).parent)


def trained(root, folder, datasets, **changes):
    asked = plan(root, datasets, **changes)
    assert len(asked.runs) == len(datasets)
    summary = run(asked, folder, workers=1)
    assert (summary.done, summary.failed, summary.left) == (len(datasets), 0, 0), summary.reasons
    return {record.run.settings["dataset"]: record for record in Store(folder).records().values()}


def check(record):
    result = record.result
    assert record.status == "done"
    assert result["steps"] == STEPS
    assert len(result["test_accuracy"]) == len(result["test_loss"]) == len(result["train_loss"]) >= 1
    assert result["L_spec_after"] != result["L_spec_before"]


def test_every_recipe_on_a_narrow_model(files, tmp_path):
    records = trained(files[0], tmp_path, SETS, **NARROW, batch=4)
    assert set(records) == set(SETS)
    for record in records.values():
        check(record)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_recipe_as_it_is(files, tmp_path, name):
    root, kinds = files
    record = trained(root, tmp_path, [name])[name]
    check(record)
    result, timing = record.result, Store(tmp_path).timing(record.run.key)
    print(
        f"\n{name} ({kinds[name]}): {result['steps']} steps of {record.run.settings['batch']}, "
        f"{result['parameters']} parameters, training loss {result['train_loss'][0]:.3f} -> "
        f"{result['train_loss'][-1]:.3f}, {timing['seconds']:.0f} s"
    )
