"""What holds for every estimator: no copies, a free interpreter, Ctrl-C, threads and forks, the program's own bits."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from madbayes import DPMeans, DPMixture, KMeans
from madbayes.simulate import gaussian_mixture


def run(script: str) -> str:
    """The output of a script in a process of its own."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process as Linux tells it")
@pytest.mark.parametrize("estimator", ["DPMeans(penalty=3e5)", "DPMeans()", "KMeans(n_clusters=20)"])
def test_a_million_rows_take_no_more_than_40_megabytes(estimator):
    added = run(f"""
        import resource
        import numpy as np
        from madbayes import DPMeans, KMeans

        rng = np.random.default_rng(0)
        X = rng.standard_normal((1_000_000, 16), dtype=np.float32)
        X += 3 * (np.arange(1_000_000) % 20)[:, None].astype(np.float32)
        DPMeans(penalty=10).fit(X[:1000])  # threads and libraries are there already
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        # The peak so far may be above what is in use now: fill up to it.
        ballast, before = [], peak()
        while peak() < before + 1:
            ballast.append(np.ones(2**17))
        before = peak()
        {estimator}.fit(X)
        print(peak() - before)
    """)
    assert float(added) <= 40.0


def test_python_runs_while_a_fit_does():
    X = np.random.default_rng(0).standard_normal((200_000, 8))
    fit = threading.Thread(target=lambda: KMeans(n_clusters=60, n_jobs=1).fit(X))
    fit.start()
    turns = 0
    while fit.is_alive():
        time.sleep(0.002)
        turns += 1
    assert turns > 10


def test_fits_in_several_threads_give_what_one_gives():
    X = gaussian_mixture(20_000, n_clusters=5, separation=6)[0]
    alone = DPMeans(penalty=5000, n_jobs=2).fit(X)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: DPMeans(penalty=5000, n_jobs=2).fit(X), range(8)))
    for model in together:
        np.testing.assert_array_equal(model.labels_, alone.labels_)


def _fit_in_child(X, results):
    results.put(DPMeans(penalty=5000, n_jobs=2).fit(X).objective_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_fit_after_its_parent_did():
    X = gaussian_mixture(20_000, n_clusters=5, separation=6)[0]
    parent = DPMeans(penalty=5000, n_jobs=2).fit(X)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    children = [context.Process(target=_fit_in_child, args=(X, results)) for _ in range(3)]
    for child in children:
        child.start()
    objectives = [results.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert objectives == [parent.objective_] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize(
    "estimator",
    [
        "KMeans(n_clusters=500, n_init=50)",
        "DPMeans(penalty=20, n_init=50)",
        "DPMeans(n_init=500)",
        "DPMixture(n_sweeps=10**6)",
    ],
)
def test_ctrl_c_stops_a_long_fit_and_keeps_what_there_is(estimator):
    script = f"""
        import numpy as np
        from madbayes import DPMeans, DPMixture, KMeans

        X = np.random.default_rng(0).standard_normal((300_000, 8)).astype(np.float32)
        model = {estimator}
        print("fitting", flush=True)
        try:
            model.fit(X)
        except KeyboardInterrupt:
            assert len(model.labels_) == len(X)
            # What the choice had found so far: one cluster would be what was never looked for.
            assert getattr(model, "penalty", None) != "auto" or model.n_clusters_ > 1
            print("kept", len(model.predict(X[:10])))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "fitting\n"
    time.sleep(1.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    print(f"{estimator}: {time.monotonic() - begin:.2f} s from the signal to the end of the process")
    assert output == "kept 10\n" and process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_leaves_the_path_so_far_on_the_exception():
    script = """
        import numpy as np
        from madbayes import penalty_path

        X = np.random.default_rng(0).standard_normal((300_000, 8)).astype(np.float32)
        print("searching", flush=True)
        try:
            penalty_path(X, max_groups=2000)
        except KeyboardInterrupt as stopped:
            assert len(stopped.path.table) > 1 and len(stopped.path.labels()) == len(X)
            print("kept", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "searching\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "kept\n" and process.returncode == 0


def test_errors_in_the_progress_bar_reach_the_caller(monkeypatch):
    import tqdm.auto

    def broken(*_args, **_kwargs):
        raise RuntimeError("no bar today")

    monkeypatch.setattr(tqdm.auto, "tqdm", broken)
    with pytest.raises(RuntimeError, match="no bar today"):
        DPMeans(verbose=1).fit([[1.0], [2.0]])


@pytest.mark.parametrize("estimator", [KMeans(n_clusters=40, n_init=3, verbose=1), DPMixture(n_sweeps=600, verbose=1)])
def test_verbose_shows_a_bar(capsys, estimator):
    estimator.fit(np.random.default_rng(0).standard_normal((20_000 if isinstance(estimator, KMeans) else 2000, 4)))
    shown = capsys.readouterr().err
    assert "madbayes" in shown and "clusters=" in shown
    assert ("objective=" in shown) if isinstance(estimator, KMeans) else ("log joint=" in shown and "/1200" in shown)


def test_without_tqdm_lines_are_printed(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    KMeans(n_clusters=40, n_init=3, verbose=1).fit(np.random.default_rng(0).standard_normal((20_000, 4)))
    assert "clusters, objective" in capsys.readouterr().err


PROGRAM = os.environ.get("MADBAYES_PROGRAM")


@pytest.mark.skipif(PROGRAM is None, reason="SKIPPED: MADBAYES_PROGRAM does not name the program to compare with")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("arguments", "estimator"),
    [
        ([], DPMeans(random_state=5)),
        (["--penalty", "auto", "--max-clusters", "3"], DPMeans(max_clusters=3, random_state=5)),
        (["--penalty", "validation"], DPMeans(penalty="validation", random_state=5)),
        (["--penalty", "farthest-first:4"], DPMeans(penalty="farthest-first:4", random_state=5)),
        (["--penalty", "300"], DPMeans(penalty=300.0, random_state=5)),
        (["--penalty", "40", "--algorithm", "serial"], DPMeans(penalty=40.0, algorithm="serial", random_state=5)),
        (["--penalty", "300", "--algorithm", "collapsed"], DPMeans(penalty=300.0, algorithm="collapsed", random_state=5)),
        (["--clusters", "7"], DPMeans(n_clusters=7, random_state=5)),
        (["--penalty", "30", "--max-clusters", "3"], DPMeans(penalty=30.0, max_clusters=3, random_state=5)),
    ],
)
def test_the_program_gives_the_same_bits(tmp_path, arguments, estimator, dtype):
    # Validation fits a path for each of many halves of the rows.
    n_samples = 300 if estimator.penalty == "validation" else 3000
    X = gaussian_mixture(n_samples, n_clusters=5, n_features=3, separation=5)[0].astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    model = tmp_path / "model.json"
    command = [PROGRAM, "cluster", tmp_path / "rows.npy", *arguments, "--seed", "5", "--format", "json", "--model", model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    estimator.fit(X)
    np.testing.assert_array_equal(theirs["labels"], estimator.labels_)
    assert theirs["objective"] == estimator.objective_
    assert theirs["penalty"] == estimator.penalty_
    if estimator.confidence_ is not None:
        assert theirs["choice"]["confidence"] == estimator.confidence_
        assert [c["k"] for c in theirs["choice"]["runners_up"]] == estimator.runners_up_
    centres = json.loads(model.read_text())["centres"]
    assert np.array(centres).tobytes() == estimator.cluster_centers_.tobytes()
