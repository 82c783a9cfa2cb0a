"""The scripts in experiments/: what they share, and their small versions as a whole."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def common(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import common

    monkeypatch.setattr(common, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["name.py"])
    return common


def test_runs_go_on_where_they_were_interrupted(common, monkeypatch):
    seen = []

    def run(case):
        seen.append(case)
        if len(seen) == 3 and case == 2:
            raise KeyboardInterrupt
        return [{"draw": draw, "value": case + draw / 2} for draw in range(2)]

    cases = [{"case": case} for case in range(4)]
    with pytest.raises(KeyboardInterrupt):
        common.Experiment("name.py", "A title").runs(cases, run)
    monkeypatch.setattr(sys, "argv", ["name.py", "--page"])
    so_far = common.Experiment("name.py", "A title")
    assert [row["case"] for row in so_far.runs(cases, run)] == [0, 0, 1, 1]
    so_far.finish()
    assert "**Unfinished.** Not run yet: 2, 3." in (so_far.folder / "name.md").read_text()
    monkeypatch.setattr(sys, "argv", ["name.py"])
    experiment = common.Experiment("name.py", "A title")
    rows = experiment.runs(cases, run)
    assert seen == [0, 1, 2, 2, 3]
    assert [(row["case"], row["draw"], row["value"]) for row in rows] == [(c, d, c + d / 2) for c in range(4) for d in range(2)]
    experiment.finish()
    common.Experiment("name.py", "A title").runs(cases, run)
    assert seen[5:] == [0, 1, 2, 3], "what is finished runs anew"


def test_runs_of_another_commit_are_not_gone_on_with(common, monkeypatch):
    def run(case):
        if case == 1 and common.commit() == "first":
            raise KeyboardInterrupt
        return [{"by": common.commit()}]

    cases = [{"case": case} for case in range(2)]
    monkeypatch.setenv("MADBAYES_COMMIT", "first")
    with pytest.raises(KeyboardInterrupt):
        common.Experiment("name.py", "A title").runs(cases, run)
    monkeypatch.setenv("MADBAYES_COMMIT", "second")
    rows = common.Experiment("name.py", "A title").runs(cases, run)
    assert [row["by"] for row in rows] == ["second", "second"]


def test_a_page_alone_keeps_runs_version_and_machine(common, monkeypatch):
    cases = [{"case": 3}]
    monkeypatch.setattr(sys, "argv", ["name.py", "--page"])
    with pytest.raises(SystemExit, match="there are no runs yet"):
        common.Experiment("name.py", "A title").runs(cases, None)
    monkeypatch.setattr(sys, "argv", ["name.py"])
    monkeypatch.setenv("MADBAYES_COMMIT", "first")
    experiment = common.Experiment("name.py", "A title")
    experiment.runs(cases, lambda case: [{"value": 2 * case}])
    experiment.finish()
    monkeypatch.setattr(sys, "argv", ["name.py", "--page"])
    monkeypatch.setenv("MADBAYES_COMMIT", "second")
    experiment = common.Experiment("name.py", "Another title")
    assert experiment.runs(cases, None) == [{"case": 3, "value": 6}]
    experiment.finish()
    page = (experiment.folder / "name.md").read_text()
    assert page.startswith("# Another title\n") and "(first), NumPy" in page and "second" not in page


def test_a_page_has_seed_version_machine_and_data(common):
    experiment = common.Experiment("name.py", "A title", seed=3)
    experiment.data("no/such.npy", "something simulated")
    experiment.table(["a", "b"], [[1, 2]])
    experiment.finish()
    page = (experiment.folder / "name.md").read_text()
    assert page.startswith("# A title\n\nMade by `cargo xtask experiments name`: seed 3, madbayes ")
    assert re.search(r", NumPy \d+\.\S+, scikit-learn \d+\.", page)
    assert "Data: something simulated, since no/such.npy is not here." in page
    assert page.endswith("| a | b |\n| --- | --- |\n| 1 | 2 |\n")


NAMES = sorted({path.stem for path in SCRIPTS.glob("*.py")} - {"common"})


@pytest.mark.parametrize("name", NAMES)
def test_a_small_version_writes_its_page_with_tables_pictures_and_runs(name):
    pytest.importorskip("matplotlib")
    if "hmmlearn" in (SCRIPTS / f"{name}.py").read_text():
        pytest.importorskip("hmmlearn")
    page = SCRIPTS.parent / f"target/experiments/quick/{name}.md"
    page.unlink(missing_ok=True)
    command = [sys.executable, SCRIPTS / f"{name}.py", "--quick"]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"}, check=False)
    assert ran.returncode == 0, ran.stderr
    text = page.read_text()
    assert f"Made by `cargo xtask experiments {name} --quick`: seed 0, madbayes " in text and "\n| --- |" in text
    assert all(page.with_name(picture).exists() for picture in re.findall(r"\]\((\w+\.png)\)", text))
    with page.with_suffix(".csv").open(newline="") as file:
        assert list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_all_experiments_shows_each(name):
    listed = (SCRIPTS.parent / "docs/experiments/README.md").read_text()
    assert f"| [{name}]({name}.md) |" in listed and (SCRIPTS.parent / f"docs/experiments/{name}.md").exists()
