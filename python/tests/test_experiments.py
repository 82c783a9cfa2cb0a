"""The scripts in experiments/: what they share, and one of them as a whole. The others take too long here, even with --quick."""

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
    monkeypatch.setattr(sys, "argv", ["name.py", "--so-far"])
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
    written = (experiment.folder / "name.csv").read_text()
    monkeypatch.setattr(sys, "argv", ["name.py", "--so-far"])
    with pytest.raises(SystemExit, match="no run is unfinished"):
        common.Experiment("name.py", "A title").runs(cases, run)
    assert (experiment.folder / "name.csv").read_text() == written
    monkeypatch.setattr(sys, "argv", ["name.py"])
    common.Experiment("name.py", "A title").runs(cases, run)
    assert seen[5:] == [0, 1, 2, 3], "what is finished runs anew"


def test_a_page_has_seed_version_machine_and_data(common):
    experiment = common.Experiment("name.py", "A title", seed=3)
    experiment.data("no/such.npy", "something simulated")
    experiment.table(["a", "b"], [[1, 2]])
    experiment.finish()
    page = (experiment.folder / "name.md").read_text()
    assert page.startswith("# A title\n\nMade by `cargo xtask experiments name`: seed 3, madbayes ")
    assert "Data: something simulated, since no/such.npy is not here." in page
    assert page.endswith("| a | b |\n| --- | --- |\n| 1 | 2 |\n")


def test_three_blobs_run_from_beginning_to_end():
    subprocess.run([sys.executable, SCRIPTS / "three_blobs.py", "--quick"], check=True, capture_output=True)
    page = (SCRIPTS.parent / "target/experiments/quick/three_blobs.md").read_text()
    assert page.count("| logistic | exact |") == 2
