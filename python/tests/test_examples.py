"""Every Python script in examples/ runs, and what it asserts at its end holds."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def test_there_are_examples():
    if not FOLDER.is_dir():
        pytest.skip(f"no examples run: there is no folder {FOLDER}")
    assert SCRIPTS, f"{FOLDER} has no Python scripts"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_runs_in_an_empty_folder_and_tells_something(script, tmp_path):
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
