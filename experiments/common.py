"""What the experiments share: data, runs that survive an interruption, and pages with seed, version and machine."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
import sys
import time
import warnings
from importlib.metadata import version as installed
from pathlib import Path

# One thread for the others' matrix products: threads that wait for each other spin, and times would not compare.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import madbayes
import numpy as np
from madbayes.metrics import pairwise_f1
from madbayes.simulate import hidden_markov, tabletop
from matplotlib.image import imread
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

# The mixtures of Nguyen et al. (2017) by their names there, with both rules for the hyperplane of a new cluster.
MIXTURES = {
    "DPM": {},
    "DDPM-S exact": {"discriminative": "svm"},
    "DDPM-L exact": {"discriminative": "logistic"},
    "DDPM-S paper": {"discriminative": "svm", "new_cluster": "paper"},
    "DDPM-L paper": {"discriminative": "logistic", "new_cluster": "paper"},
}
# The same with moves of whole clusters switched off, which under the paper's rule they always are.
ROW_BY_ROW = {
    f"{name}, row by row": {**options, "split_merge": False}
    for name, options in MIXTURES.items() if "new_cluster" not in options
}  # fmt: skip
# Its hidden Markov models.
CHAINS = {
    name.replace("DDPM", "DIH").replace("DPM", "iHMM"): options for name, options in {**MIXTURES, **ROW_BY_ROW}.items()
}


class Experiment:
    """One table or figure: its runs, and its page docs/experiments/NAME.md with pictures and NAME.csv, every run.

    With --quick everything is small and goes to target/experiments/quick instead.
    """

    def __init__(self, script: str, title: str, *, seed: int = 0) -> None:
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--quick", action="store_true", help="a small version, into target/experiments/quick")
        parser.add_argument("--page", action="store_true", help="run nothing: the page anew, of the runs there are")
        arguments = parser.parse_args()
        self.quick, self.only_page = arguments.quick, arguments.page
        self.name, self.title, self.seed = Path(script).stem, title, seed
        self.folder = ROOT / "target/experiments/quick" if self.quick else ROOT / "docs/experiments"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.stamp = f"madbayes {version()}, {packages()}, {machine()}"
        # Runs of another commit are none of this one's.
        of_commit = f"@{commit()}" if commit() else ""
        self.partial = ROOT / "target/experiments" / f"{self.name}{'-quick' if self.quick else ''}{of_commit}.csv"
        self.begin, self.parts, self.sources, self.missing = time.time(), [], [], []
        # Short chains are what the papers ran; that they disagree is part of the tables.
        warnings.simplefilter("ignore", ConvergenceWarning)

    def data(self, path: str, instead: str) -> Path | None:
        """A file of ../shared/data; None where it is not, and the page says what is used instead."""
        file = DATA / path
        if file.exists():
            self.sources.append(f"{path}")
            return file
        self.sources.append(f"{instead}, since {path} is not here")
        return None

    def runs(self, cases, function) -> list[dict]:
        """`function(**case)` for each case, a dictionary; each returns a list of dictionaries, a row of the CSV each.

        Rows are written as they come: started again after an interruption, only what is missing is run.
        """
        cases = list(cases)
        done = self.runs_there_are() if self.only_page else read_rows(self.partial)
        for i, case in enumerate(cases):
            key = {name: str(value) for name, value in case.items()}
            shown = " ".join(key.values())
            if any(key.items() <= row.items() for row in done):
                continue
            if self.only_page:
                self.missing.append(shown)
                continue
            print(f"{self.name}: {i + 1} of {len(cases)}, {shown}", end="", file=sys.stderr, flush=True)
            begin, processor = time.time(), time.process_time()
            found = function(**case)
            seconds = f"{time.time() - begin:.1f} s ({time.process_time() - processor:.1f} of processors)"
            print(f", {seconds}", file=sys.stderr)
            rows = [{**key, **{name: str(value) for name, value in row.items()}} for row in found]
            append_rows(self.partial, rows)
            done += rows
        wanted = [{name: str(value) for name, value in case.items()} for case in cases]
        rows = [row for key in wanted for row in done if key.items() <= row.items()]
        write_rows(self.folder / f"{self.name}.csv", rows)
        return [{name: as_number(value) for name, value in row.items()} for row in rows]

    def runs_there_are(self) -> list[dict]:
        """Those of the newest unfinished run, or of the finished one with the stamp that its page has."""
        unfinished = [*self.partial.parent.glob(f"{self.partial.stem.split('@')[0]}@*.csv"), self.partial]
        unfinished = [path for path in unfinished if path.exists()]
        if unfinished:
            newest = max(unfinished, key=lambda path: path.stat().st_mtime)
            of_commit = newest.stem.partition("@")[2]
            self.stamp = f"madbayes {version(of_commit)}, {packages()}, {machine()}"
            return read_rows(newest)
        page = self.folder / f"{self.name}.md"
        stamp = re.search(r"seed \d+, (madbayes .+?); every run is in", page.read_text()) if page.exists() else None
        if not stamp:
            sys.exit(f"{self.name}: there are no runs yet; leave out --page")
        self.stamp = stamp[1]
        return read_rows(page.with_suffix(".csv"))

    def say(self, text: str) -> None:
        """A paragraph."""
        self.parts.append(text)

    def table(self, head, rows) -> None:
        """A table of the page."""
        lines = [head, ["---"] * len(head), *rows]
        self.parts.append("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))

    def picture(self, figure, name: str, caption: str) -> None:
        """A matplotlib figure."""
        figure.savefig(self.folder / f"{name}.png", dpi=100, bbox_inches="tight")
        self.parts.append(f"![{caption}]({name}.png)")

    def finish(self) -> None:
        """Writes the page; the next start runs everything anew."""
        made = (
            f"Made by `cargo xtask experiments {self.name}{' --quick' if self.quick else ''}`: seed {self.seed}, "
            f"{self.stamp}; every run is in [{self.name}.csv]({self.name}.csv). "
            f"Data: {'; '.join(dict.fromkeys(self.sources)) or 'simulated'}."
        )
        if self.missing:
            self.parts.insert(0, f"**Unfinished.** Not run yet: {', '.join(self.missing)}.")
        page = self.folder / f"{self.name}.md"
        page.write_text("\n\n".join([f"# {self.title}", made, *self.parts]) + "\n")
        if not self.only_page:
            self.partial.unlink(missing_ok=True)
        print(f"{self.name}: {time.time() - self.begin:.0f} s, {page.relative_to(ROOT)}", file=sys.stderr)


def counted_pictures(experiment: Experiment) -> dict:
    """Digits and scenes as counts, with their classes: what Nguyen et al. (2017) cluster, or scikit-learn's digits.

    Pixels are in [0, 1], as counts of ink. A scene has 576 visual words, but of pictures of 32 x 32 pixels every 8
    pixels, so that each pixel is in 16 of them: they count as 36.
    """
    sets = {}
    if digits := experiment.data("mnist/mnist_1000_X.npy", "the 8 x 8 digits of scikit-learn"):
        sets["mnist"] = np.load(digits) / 255, np.load(digits.with_name("mnist_1000_y.npy"))
    else:
        X, y = load_digits(return_X_y=True)
        sets["digits"] = X / 16, y
    if scenes := experiment.data("counts/scene15_sift_bow.npz", "no scenes"):
        with np.load(scenes) as arrays:
            sets["scene15"] = arrays["counts_128"] / 16, arrays["labels"]
    if experiment.quick:
        sets = {name: (X[::20], y[::20]) for name, (X, y) in sets.items()}
    return sets


def tabletop_pictures(experiment: Experiment) -> tuple:
    """Pictures of a table in [0, 1] and which of four objects lie on each; simulated ones where they are not here.

    Taken by Griffiths & Ghahramani (2006).
    """
    if labels := experiment.data("tabletop/labels.csv", "madbayes.simulate.tabletop"):
        cells = np.genfromtxt(labels, delimiter=",", dtype=str)
        pictures = np.stack([imread(labels.parent / str(name)) for name in cells[1:, 0]]) / 255
        Z, names = cells[1:, 1:].astype(int), list(cells[0, 1:])
    else:
        pictures, Z, names = tabletop(colour=True, random_state=experiment.seed)
    return (pictures[:, ::8, ::8] if experiment.quick and labels else pictures), Z, names


def faces(experiment: Experiment) -> np.ndarray:
    """Faces in [0, 1]: Olivetti, since FEI, which the paper has, may not be passed on; or digits of 8 x 8 pixels."""
    if file := experiment.data("faces/olivetti_64x64.npz", "the 8 x 8 digits of scikit-learn"):
        with np.load(file) as arrays:
            pictures = arrays["X"] / 255
    else:
        pictures = load_digits().images[:400] / 16
    return pictures[:, ::4, ::4] if experiment.quick and file else pictures


def principal_components(pictures: np.ndarray, most: int = 100, *, centred: bool = True) -> tuple:
    """Rows as MAD-Bayes has them, and their axes: centred, divided by sqrt(N - 1), in principal components."""
    X = pictures.reshape(len(pictures), -1) / np.sqrt(len(pictures) - 1)
    X = X - X.mean(axis=0) if centred else X
    axes = np.linalg.svd(X, full_matrices=False)[2][:most]
    return np.ascontiguousarray(X @ axes.T), axes


def labelled_sequences(experiment: Experiment) -> dict:
    """Rows, true states, lengths and likelihood: movements, rooms by their WiFi, and three users' WiFi traces."""
    sets = {}
    if movements := experiment.data("sequences/mocap6.csv", "a simulated chain"):
        cells = np.genfromtxt(movements, delimiter=",", skip_header=1, dtype=str)
        actions = np.unique(cells[:, -1], return_inverse=True)[1]
        lengths = np.unique(cells[:, 0], return_counts=True)[1]
        sets["mocap6"] = StandardScaler().fit_transform(cells[:, 2:-1].astype(float)), actions, lengths, "gaussian"
    else:
        X, states, _ = hidden_markov(2000, random_state=experiment.seed)
        sets["simulated"] = X, states, [len(X)], "gaussian"
    if rooms := experiment.data("sequences/wifi_localization.csv", "no rooms"):
        cells = np.genfromtxt(rooms, delimiter=",", skip_header=1)
        sets["wifi_localization"] = cells[:, :-1], cells[:, -1].astype(int), [len(cells)], "gaussian"
    if traces := experiment.data("sequences/uji_wifi_4users.npz", "no WiFi traces"):
        with np.load(traces) as arrays:
            for user in (9, 13, 14):
                rows = arrays["user"] == user
                heard = arrays["rssi"][rows] > -128
                floors = 10 * arrays["building"][rows] + arrays["floor"][rows]
                heard = heard[:, heard.any(axis=0)].astype(float)
                sets[f"uji_wifi {user}"] = heard, floors, [len(floors)], "multinomial"
    if experiment.quick:
        sets = {name: (X[:150], y[:150], [150], law) for name, (X, y, _, law) in list(sets.items())[:1]}
    return sets


def scores(truth: np.ndarray, runs, **more) -> list[dict]:
    """A row for every draw of every run: clusters, NMI, F1, and the adjusted Rand index of the run's last two draws.

    The last is *successive*: 1 where nothing moves any more.
    """
    rows = []
    for i, draws in enumerate(runs):
        successive = round(adjusted_rand_score(*draws[-2:]), 4) if len(draws) > 1 else ""
        for j, labels in enumerate(draws):
            nmi, f1 = normalized_mutual_info_score(truth, labels), pairwise_f1(truth, labels)
            found = {"k": len(np.unique(labels)), "nmi": round(nmi, 5), "f1": round(f1, 5), "successive": successive}
            rows.append({"run": i, "draw": j, **found, **more})
    return rows


def score_cells(rows: list[dict]) -> list[str]:
    """Cells of a table: mean number of clusters, NMI and F1 with their spread, and *successive*."""
    successive = [row["successive"] for row in rows if row.get("successive", "") != ""]
    return [
        f"{column(rows, 'k').mean():.1f}", mean_and_spread(column(rows, "nmi")), mean_and_spread(column(rows, "f1")),
        f"{np.mean(successive):.2f}" if successive else "",
    ]  # fmt: skip


def mean_and_spread(values, digits: int = 3) -> str:
    """0.512 (0.030), as the papers write it."""
    return f"{np.mean(values):.{digits}f} ({np.std(values):.{digits}f})"


def group(rows: list[dict], *names: str) -> dict:
    """Rows by the values of these columns, in order of appearance."""
    groups: dict = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def column(rows: list[dict], name: str) -> np.ndarray:
    """A column of rows."""
    return np.array([row[name] for row in rows])


def commit() -> str:
    """What `cargo xtask experiments` built the package from; nothing where a script runs by itself."""
    return os.environ.get("MADBAYES_COMMIT", "")


def version(of_commit: str | None = None) -> str:
    """Of the package, with its commit."""
    of_commit = commit() if of_commit is None else of_commit
    return f"{madbayes.__version__} ({of_commit})" if of_commit else madbayes.__version__


def packages() -> str:
    """Versions of what is compared with, as far as the script has it."""
    names = {"numpy": "NumPy", "sklearn": "scikit-learn", "hmmlearn": "hmmlearn"}
    return ", ".join(
        f"{name} {installed(name.lower())}" for module, name in names.items() if module in sys.modules
    )


def machine() -> str:
    """Processor and system."""
    model, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.exists() and (named := re.search("model name\\s*: (.*)", info.read_text())):
        model = named[1]
    return f"{os.cpu_count()} x {model}, {platform.system()}, Python {platform.python_version()}"


def as_number(text: str):
    """A whole number, a number or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_rows(path: Path) -> list[dict]:
    """The rows of a CSV file; none if there is none."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append_rows(path: Path, rows: list[dict]) -> None:
    """Adds rows at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begins = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        if begins:
            writer.writeheader()
        writer.writerows(rows)


def write_rows(path: Path, rows: list[dict]) -> None:
    """A whole CSV file."""
    path.unlink(missing_ok=True)
    append_rows(path, rows)
