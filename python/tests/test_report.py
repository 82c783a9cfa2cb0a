"""Pages of results, opened in a real browser: what they show is what was found, and they ask nothing of the network."""

import csv
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import warnings
import zlib
from contextlib import contextmanager

import numpy as np
import pandas
import pytest

from madbayes import (
    BPMeans,
    DPMeans,
    DPMixture,
    FullCovarianceMeans,
    IndianBuffet,
    InfiniteHMM,
    KFeatures,
    KMeans,
    penalty_path,
)
from madbayes.simulate import feature_mixture, gaussian_mixture

HOSTILE = "<!--</script><script>alert(1)</script>"
PROGRAM = os.environ.get("MADBAYES_PROGRAM")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]

needs_program = pytest.mark.skipif(PROGRAM is None, reason="SKIPPED: MADBAYES_PROGRAM names no program")


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("SKIPPED: there is no Chromium to open pages in")
    sync_api = pytest.importorskip("playwright.sync_api", reason="SKIPPED: playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


@contextmanager
def opened(browser, path, **options):
    """A page; nothing but its own file may be asked for, nothing may be logged, no dialog may open."""
    context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}, **options})
    page = context.new_page()
    requests, logged = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("dialog", lambda dialog: (logged.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    yield page
    assert [url for url in requests if url != path.as_uri() and not url.startswith(("data:", "blob:"))] == []
    assert logged == []
    context.close()


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def slide_to(page, k):
    """Moves the slider by keys until so many groups are shown."""
    page.locator("#penalty").focus()
    page.keyboard.press("Home")
    while (shown := int(page.locator("#now").inner_text().split()[0].replace(",", ""))) != k:
        page.keyboard.press("ArrowRight")
        assert page.locator("#now").inner_text().split()[0] != f"{shown:,}", f"the slider has no {k}"


def downloaded(page):
    with page.expect_download() as waiting:
        page.locator("#download").click()
    with open(waiting.value.path(), newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def sizes_shown(page):
    cells = page.locator("#sizes tbody tr td:nth-child(2)").all_inner_texts()
    return [int(cell.replace(",", "")) for cell in cells]


@pytest.fixture(scope="module")
def blobs():
    X, truth, _ = gaussian_mixture(240, n_features=3, n_clusters=4, separation=7)
    return X, truth


@pytest.fixture(scope="module")
def cluster_page(blobs, tmp_path_factory):
    X, truth = blobs
    path = tmp_path_factory.mktemp("report") / "clusters.html"
    model = DPMeans().fit(X)
    model.report(path, labels=truth)
    return path, model


def shown_number(x):
    """A number as the page writes it: about four digits."""
    return pytest.approx(x, rel=2e-3)


def test_the_slider_shows_the_numbers_of_the_path(browser, blobs, cluster_page):
    X, _ = blobs
    path, model = cluster_page
    known = penalty_path(X)
    with opened(browser, path) as page:
        assert page.locator("h1").inner_text() == "4 clusters"
        assert "chosen by the data" in page.locator("#now").inner_text()
        views = data_of(path)["clusters"]["views"]
        assert [view["k"] for view in views][:24] == known.table["k"].tolist()[: min(24, len(known.table))]
        for row in known.table[:8]:
            k = int(row["k"])
            slide_to(page, k)
            labels = model.labels_ if k == model.n_clusters_ else known.labels(k)
            assert sizes_shown(page) == np.bincount(labels).tolist(), f"K {k}"
            said = page.locator("#penalty-range").inner_text()
            numbers = [float(word.strip(";")) for word in said.split() if word.strip(";")[0].isdigit()]
            ends = [row["penalty_low"], *([row["penalty_high"]] if np.isfinite(row["penalty_high"]) else []), row["loss"]]
            assert numbers == [shown_number(x) for x in ends], said
        marks = {mark.text_content(): int(mark.get_attribute("data-k")) for mark in page.locator(".strip .mark").all()}
        assert {text.split(":")[0].split()[0]: k for text, k in marks.items()} == {
            "\u2605": known.best_k,
            **{f"#{place + 2}": k for place, k in enumerate(known.runners_up)},
        }
        slide_to(page, known.runners_up[0])
        assert "#2 of the automatic choice" in page.locator("#now").inner_text()
        page.get_by_role("button", name="Back to the automatic choice").click()
        assert page.locator("#now").inner_text().startswith("4 clusters")


def test_keys_move_the_slider_and_what_it_shows_is_announced(browser, cluster_page):
    path, _ = cluster_page
    with opened(browser, path) as page:
        page.locator("#penalty").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#now").inner_text().startswith("3 clusters")
        assert len(sizes_shown(page)) == 3
        page.keyboard.press("End")
        assert page.locator("#now").inner_text().startswith("1 cluster")
        assert page.locator("[aria-live=polite] #now").count() == 1
        assert page.locator("#penalty").get_attribute("aria-valuetext").startswith("1 cluster, optimal")


def thumb(page):
    """Where the middle of the slider's thumb is, as its value says."""
    return page.locator("#penalty").evaluate(
        "input => { const box = input.getBoundingClientRect(), share = (input.value - input.min) / (input.max - input.min);"
        " return [box.left + 8 + share * (box.width - 16), box.top + box.height / 2]; }"
    )


def test_the_thumb_stands_above_its_penalties_and_can_be_put_there(browser, cluster_page):
    path, _ = cluster_page
    with opened(browser, path) as page:
        for k in (1, 3, 4, 6):
            slide_to(page, k)
            field = page.locator(f".strip .field[data-k='{k}']").bounding_box()
            assert field["x"] - 1 <= thumb(page)[0] <= field["x"] + field["width"] + 1, f"K {k}"
        for k in (2, 4):
            field = page.locator(f".strip .field[data-k='{k}']").bounding_box()
            page.mouse.click(field["x"] + field["width"] / 2, thumb(page)[1])
            assert page.locator("#now").inner_text().split()[0] == str(k)
            outline = page.locator(".strip .current").bounding_box()
            assert abs(outline["x"] - field["x"]) < 4 and abs(outline["width"] - field["width"]) < 8


def test_a_long_path_is_drawn_whole_and_the_page_says_what_it_holds(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 2))
    known = penalty_path(X, max_groups=90)
    known.report(tmp_path / "long.html")
    with opened(browser, tmp_path / "long.html") as page:
        fields = [int(field.get_attribute("data-k")) for field in page.locator(".strip .field").all()]
        assert fields == known.table["k"].tolist() and len(fields) > 45
        held = page.locator(".strip .field:not(.unheld)").count()
        assert f"The page holds {held} of the {len(fields)} numbers on the path" in page.locator("#path").inner_text()
        edges = [field.bounding_box() for field in page.locator(".strip .field").all()]
        assert all(abs(right["x"] + right["width"] - left["x"]) < 3 for left, right in zip(edges, edges[1:], strict=False))


def test_downloaded_labels_are_those_of_the_slider(browser, blobs, cluster_page):
    X, _ = blobs
    path, model = cluster_page
    known = penalty_path(X)
    with opened(browser, path) as page:
        for k in (model.n_clusters_, 2):
            slide_to(page, k)
            labels = model.labels_ if k == model.n_clusters_ else known.labels(k)
            expected = [["row", "cluster"], *([str(n + 1), str(label)] for n, label in enumerate(labels))]
            assert downloaded(page) == expected


def test_the_picture_has_every_row_and_other_axes_can_be_chosen(browser, cluster_page):
    path, _ = cluster_page
    with opened(browser, path) as page:
        drawn = "() => [...document.querySelectorAll('#scatter .fill')].map(p => p.getAttribute('d').split('M').length - 1)"
        assert sum(page.evaluate(drawn)) == 240
        before = page.locator("#scatter .fill").first.get_attribute("d")
        page.locator("#rows select").first.select_option(index=2)
        assert page.locator("#scatter .fill").first.get_attribute("d") != before
        assert "principal component 3" in page.locator("#scatter").get_attribute("aria-label")


def test_agreement_means_and_misfits_are_those_of_the_rows(browser, blobs, cluster_page):
    X, truth = blobs
    path, model = cluster_page
    with opened(browser, path) as page:
        lines = page.locator("#agreement tbody tr").all()
        counts = np.array([[int(cell) for cell in line.locator("td").all_inner_texts()] for line in lines])
        assert sorted(map(tuple, counts.tolist())) == sorted(
            tuple(np.bincount(truth[model.labels_ == k], minlength=4)[_by_size(truth)]) for k in range(4)
        )
        profile = data_of(path)["clusters"]["views"][data_of(path)["clusters"]["fitted"]]
        for entry in profile["profiles"]:
            rows = X[model.labels_ == entry["group"]]
            assert entry["means"] == pytest.approx(rows.mean(axis=0)[profile["telling"]], rel=1e-3, abs=1e-3)
            above = (rows.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0)
            assert entry["above"] == pytest.approx(above[profile["telling"]], rel=1e-3, abs=1e-3)
        distances = np.linalg.norm(X - model.cluster_centers_[model.labels_], axis=1)
        assert page.locator("#misfits tbody th").first.inner_text() == str(distances.argmax() + 1)


def _by_size(truth):
    sizes = np.bincount(truth)
    first = [int(np.flatnonzero(truth == label)[0]) for label in range(len(sizes))]
    return sorted(range(len(sizes)), key=lambda label: (-sizes[label], first[label]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(browser, cluster_page, scheme):
    path, _ = cluster_page
    with opened(browser, path, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        ink, paper = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
        assert (lightness[0] > lightness[1]) == (scheme == "dark")


def run(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True)


@needs_program
def test_hostile_names_are_shown_as_text(browser, tmp_path):
    file = tmp_path / "a<img src=x onerror=alert(2)>.csv"
    rng = np.random.default_rng(0)
    with open(file, "w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow([HOSTILE, "\u2028 & 'b\"", "kind"])
        for n in range(60):
            writer.writerow([*(rng.normal(size=2) + 20 * (n % 2)), f"<b>{HOSTILE}{n % 2}"])
    path = tmp_path / "report.html"
    run("cluster", file, "--label-column", "kind", "--report", path, "-q")
    with opened(browser, path) as page:
        text = page.locator("body").inner_text()
        assert HOSTILE in text and f"<b>{HOSTILE}1" in text
        assert file.name in text and "onerror=alert(2)" in page.locator("#run").inner_text()
        assert page.locator("img, b").count() == 0


@pytest.mark.parametrize(
    "model",
    [DPMeans(n_clusters=2), BPMeans(penalty=50.0), DPMixture(n_sweeps=20), InfiniteHMM(n_sweeps=20)],
    ids=lambda model: type(model).__name__,
)
def test_hostile_names_of_a_data_frame_are_shown_as_text(browser, tmp_path, model):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2)) + 20 * (np.arange(40) % 2)[:, None]
    frame = pandas.DataFrame(values, columns=[HOSTILE, "<img src=x onerror=alert(3)>"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame)
    known = pandas.Series([f"{HOSTILE}{n % 2}" for n in range(40)], name=f"<b>{HOSTILE}")
    model.report(tmp_path / "page.html", **({} if isinstance(model, BPMeans) else {"labels": known}))
    with opened(browser, tmp_path / "page.html") as page:
        text = page.locator("body").inner_text()
        assert HOSTILE in text and "<img src=x onerror=alert(3)>" in text
        assert isinstance(model, BPMeans) or (f"{HOSTILE}1" in text and f"<b>{HOSTILE}" in text)
        assert page.locator("b, img:not([src^='data:'])").count() == 0


def write_png(path, pixels):
    """A grey picture of 8 bits."""
    height, width = pixels.shape

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    lines = b"".join(b"\0" + bytes(line) for line in pixels.astype(np.uint8).tolist())
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


@needs_program
def test_hostile_names_of_pictures_are_shown_as_text(browser, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for n in range(16):
        pixels = np.full((6, 8), 60) + rng.integers(0, 3, (6, 8))
        pixels[1:3, 1:4] += 150 * (n % 2)
        write_png(folder / f"<!--<img src=x onerror=alert({n})>.png", pixels)
    run("features", folder, "--report", tmp_path / "page.html", "-q")
    with opened(browser, tmp_path / "page.html") as page:
        assert "<!--<img src=x onerror=alert(" in page.locator("#example").inner_text()
        assert page.locator("img").count() == 0
        assert downloaded(page)[1][0].startswith("<!--<img src=x onerror=alert(")


@needs_program
def test_the_program_and_the_package_write_the_same_page(blobs, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "x.npy", X)
    run("cluster", tmp_path / "x.npy", "--report", tmp_path / "a.html", "-q")
    DPMeans().fit(X).report(tmp_path / "b.html")
    ours, theirs = (data_of(tmp_path / name)["clusters"] for name in ("a.html", "b.html"))
    for page in (ours, theirs):
        # Columns of an array have no names: the program and the package number them in their own ways.
        page["columns"] = [value[1] for value in page["columns"].values()]
        for axis in page["axes"]:
            axis["name"] = axis["name"] if axis["name"].startswith("principal") else None
    assert ours == theirs


@needs_program
def test_many_rows_are_thinned_and_the_page_says_so(browser, tmp_path):
    X, _, _ = gaussian_mixture(30_000, n_features=4, n_clusters=5, separation=8)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    path = tmp_path / "many.html"
    out = run("cluster", tmp_path / "x.npy", "--report", path, "--format", "json", "-q")
    found = json.loads(out.stdout)
    assert path.stat().st_size < 4_000_000
    with opened(browser, path) as page:
        assert "20,000 of 30,000 rows are shown" in page.locator("#rows").inner_text()
        assert "random sample of 8,192 of 30,000 rows" in page.locator("#path").inner_text()
        assert sizes_shown(page) == found["sizes"], "sizes are of all rows"
        assert downloaded(page)[1:] == [[str(n + 1), str(label)] for n, label in enumerate(found["labels"])]
        slide_to(page, 2)
        assert sum(sizes_shown(page)) == 30_000
        assert "only the 20,000 rows of the picture" in page.locator("#labels").inner_text()
        assert "--out writes all of them" in page.locator("#labels").inner_text()
        assert len(downloaded(page)) == 20_001


def test_features_of_a_table_are_bars_and_rows_are_taken_apart(browser, tmp_path):
    X, Z, A = feature_mixture(80, n_features=6, n_components=3)
    model = BPMeans().fit(X)
    path = tmp_path / "features.html"
    model.report(path)
    known = penalty_path(X, kind="features")
    with opened(browser, path) as page:
        assert page.locator("h1").inner_text() == f"{model.n_components_} features"
        view = data_of(path)["features"]["views"][data_of(path)["features"]["fitted"]]
        assert view["together"] == (model.allocation_.astype(int).T @ model.allocation_.astype(int)).tolist()
        for k, component in enumerate(view["components"]):
            assert component == pytest.approx(model.components_[k][view["telling"]], rel=1e-3, abs=1e-3)
        cells = page.locator("#apart tbody tr").first.locator("td").all_inner_texts()
        row = int(page.locator("#example option").first.inner_text().split()[0]) - 1
        column = view["telling"][0]
        values = [float(cell.replace("\u2212", "-")) for cell in cells]
        assert values[0] == shown_number(X[row, column])
        assert values[-1] == pytest.approx(model.inverse_transform(model.allocation_)[row, column], rel=5e-3, abs=5e-3)
        expected = [[str(n + 1), *(str(int(bit)) for bit in bits)] for n, bits in enumerate(model.allocation_)]
        assert downloaded(page)[1:] == expected
        other = next(int(k) for k in known.table["k"] if k not in (0, model.n_components_))
        slide_to(page, other)
        shown = page.locator("#features table").nth(1).locator("tbody tr td:nth-child(2)").all_inner_texts()
        assert [int(n) for n in shown] == known.allocation(other).sum(axis=0).tolist()


def test_features_of_pictures_are_pictures_that_sum_to_the_row(browser, tmp_path):
    rng = np.random.default_rng(1)
    parts = np.zeros((3, 6, 8))
    parts[0] += 0.3
    parts[1, 1:3, 1:3] = 0.6
    parts[2, 3:5, 5:7] = -0.25
    Z = np.column_stack([np.ones(60), rng.random((60, 2)) < 0.5])
    X = Z @ parts.reshape(3, -1) + rng.normal(0, 0.01, (60, 48))
    model = BPMeans().fit(X)
    path = tmp_path / "pictures.html"
    model.report(path, shape=(6, 8))
    with opened(browser, path) as page:
        assert page.locator("#features canvas").count() == model.n_components_
        pixels = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 == 0)"
        original, total = (np.array(page.locator("#apart canvas").nth(i).evaluate(pixels)) for i in (0, 1))
        assert np.abs(original - total).max() < 20, "the sum of its features is nearly the picture"
        row = int(page.locator("#example option").first.inner_text().split()[0]) - 1
        assert np.abs(original - 255 * X[row].clip(0, 1)).max() <= 3
    KFeatures(n_components=3).fit(16 * X).report(path, shape=(6, 8))
    with opened(browser, path) as page:
        brightest = page.locator("#apart canvas").first.evaluate(pixels)
        row = int(page.locator("#example option").first.inner_text().split()[0]) - 1
        low, high = min(0, 16 * X.min()), 16 * X.max()
        assert np.abs(np.array(brightest) - 255 * (16 * X[row] - low) / (high - low)).max() <= 4, "white is the brightest"
    with pytest.raises(ValueError, match="48 numbers"):
        model.report(path, shape=(5, 8))


def test_a_feature_that_changes_the_colour_alone_is_seen(browser, tmp_path):
    rng = np.random.default_rng(1)
    change = np.zeros((4, 4, 3))
    change[1:3, 1:3] = [0.3, -0.3, 0.0]
    Z = np.column_stack([np.ones(40), np.arange(40) % 2])
    X = Z @ np.stack([np.full(48, 0.5), change.ravel()]) + rng.normal(0, 0.005, (40, 48))
    KFeatures(n_components=2).fit(X).report(tmp_path / "hue.html", shape=(4, 4, 3))
    with opened(browser, tmp_path / "hue.html") as page:
        middle = "canvas => [...canvas.getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)"
        shown = [canvas.evaluate(middle) for canvas in page.locator("#features canvas").all()]
        assert [102, 34, 170] in shown, "violet: the brightness stays"


def test_features_beyond_those_listed_are_in_the_sum(browser, tmp_path):
    rng = np.random.default_rng(0)
    A = np.diag(np.arange(1.0, 27.0))
    Z = rng.random((80, 26)) < 0.5
    Z[0] = True
    X = Z @ A
    model = KFeatures(n_components=26, init=A, base_feature=False, polish=False, n_init=1).fit(X)
    model.report(tmp_path / "many.html")
    with opened(browser, tmp_path / "many.html") as page:
        assert "first 24 of 26 features" in page.locator("#features").inner_text()
        shown = data_of(tmp_path / "many.html")["features"]
        beyond = [i for i, rest in enumerate(shown["views"][shown["fitted"]]["rest"]) if rest]
        page.locator("#example").select_option(index=beyond[0])
        row = int(page.locator("#example option").nth(beyond[0]).inner_text().split()[0]) - 1
        for line in page.locator("#apart tbody tr").all():
            column = int(line.locator("th").inner_text()) - 1
            cells = [float(cell.replace("\u2212", "-")) for cell in line.locator("td").all_inner_texts()]
            assert cells[-1] == pytest.approx(model.inverse_transform(model.allocation_)[row, column], abs=0.02)
            assert cells[-1] == pytest.approx(sum(cells[1:-1]), abs=0.02)


def test_a_sampler_shows_traces_histogram_and_rows_that_go_together(browser, blobs, tmp_path):
    X, truth = blobs
    model = DPMixture(n_sweeps=60, n_chains=2).fit(X[:120])
    path = tmp_path / "mixture.html"
    model.report(path, labels=truth[:120])
    with opened(browser, path) as page:
        assert page.locator("#traces path.line").count() == 4
        said = page.locator("header").inner_text()
        share = 100 * np.mean(model.n_clusters_trace_[:, model.burn_in_ :] == model.n_clusters_)
        assert f"The {model.n_clusters_} clusters shown are those of the labels with the least expected variation" in said
        assert f"{share:.0f}% of the sweeps" in said
        ticks = [float(tick) for tick in page.locator("#traces figure").first.locator(".tick").all_text_contents()]
        assert len(ticks) > 2 and all(tick.is_integer() for tick in ticks)
        rows = page.locator("#histogram tbody tr").all()
        shown = {int(r.locator("th").inner_text()): r.locator("td").first.inner_text() for r in rows}
        kept = model.n_clusters_trace_[:, model.burn_in_ :]
        assert shown == {int(k): f"{100 * np.mean(kept == k):.1f}%" for k in np.unique(kept)}
        together = data_of(path)["chains"]["together"]
        order = [int(row) - 1 for row in together["rows"]]
        assert together["groups"] == sorted(model.labels_.tolist())
        pixels = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 == 0)"
        drawn = np.array(page.locator("canvas.matrix").evaluate(pixels)).reshape(120, 120)
        assert np.abs(drawn - 255 * (1 - model.coclustering()[np.ix_(order, order)])).max() <= 2
        unsure = int(page.locator("#certainty tbody th").last.inner_text())
        assert model.certainty_[unsure - 1] <= np.sort(model.certainty_)[9]


def test_states_show_their_sequences(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat([0.0, 8.0, 0.0, 8.0], 25)[:, None] + rng.normal(size=(100, 1))
    model = InfiniteHMM(n_sweeps=60).fit(X, lengths=[60, 40])
    path = tmp_path / "states.html"
    model.report(path)
    with opened(browser, path) as page:
        assert "2 sequences" in page.locator("#sequences img").get_attribute("alt")
        assert page.locator("#sequences img").evaluate("image => image.naturalWidth") > 0
        shown = page.locator("#sequences tbody td").first.inner_text()
        assert shown == f"{100 * model.transmat_[0, 0]:.1f}%"
        assert downloaded(page)[0] == ["row", "state"]


def test_the_seed_shown_is_that_of_the_fit_and_a_generator_is_left_alone(blobs, tmp_path):
    generator = np.random.default_rng(5)
    model = DPMeans(penalty=300.0, random_state=generator).fit(blobs[0])
    before = generator.bit_generator.state
    model.report(tmp_path / "a.html")
    pickle.loads(pickle.dumps(model)).report(tmp_path / "b.html", blobs[0])
    assert generator.bit_generator.state == before
    seed = int(np.random.default_rng(5).integers(0, 2**63))
    for page in ("a.html", "b.html"):
        assert f'<th scope="row">Seed</th><td>{seed}</td>' in (tmp_path / page).read_text(encoding="utf-8")


def test_a_stream_says_that_it_shows_the_last_batch(browser, tmp_path):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    model = DPMeans(penalty=400.0)
    for k in (0, 1, 2, 2):
        model.partial_fit(centres[k] + rng.normal(size=(50, 2)))
    model.report(tmp_path / "stream.html")
    assert model.n_clusters_ == 3
    with opened(browser, tmp_path / "stream.html") as page:
        assert page.locator("h1").inner_text() == "3 clusters"
        said = page.locator("header").inner_text()
        assert "1 of them have rows in the last batch" in said and "the 50 rows of that batch alone" in said
        assert ".partial_fit(X)" in page.locator("#run").inner_text()
        assert sizes_shown(page) == [50], "a cluster without rows in the batch is not drawn"
        assert page.locator("#scatter .cross").get_attribute("d").count("M") == 1


def test_rows_fit_worst_by_the_measure_of_the_model(browser, blobs, tmp_path):
    X = blobs[0] * [10.0, 1.0, 0.1]
    model = FullCovarianceMeans(n_clusters=4).fit(X)
    model.report(tmp_path / "full.html")
    gaps = X - model.cluster_centers_[model.labels_]
    own = np.einsum("ni,nij,nj->n", gaps, np.linalg.inv(model.covariances_)[model.labels_], gaps)
    with opened(browser, tmp_path / "full.html") as page:
        assert "squared Mahalanobis distance" in page.locator("#misfits").inner_text()
        rows = page.locator("#misfits tbody th").all_inner_texts()
        assert [int(row) - 1 for row in rows] == np.argsort(-own, kind="stable")[: len(rows)].tolist()


def test_one_column_has_lines_for_its_means(browser, blobs, tmp_path):
    X = np.concatenate([np.zeros(20), np.full(20, 50.0)])[:, None] + np.arange(40)[:, None] % 5
    DPMeans(n_clusters=2).fit(X).report(tmp_path / "one.html")
    with opened(browser, tmp_path / "one.html") as page:
        assert page.locator("#scatter .cross").get_attribute("d").count("V") == 2
        assert "each line is the mean" in page.locator("#rows").inner_text()


def test_very_many_clusters_make_a_small_page_that_says_what_it_leaves_out(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = DPMeans(penalty=1e-9, algorithm="serial", init="mean", n_init=1, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    model.report(tmp_path / "many.html", labels=np.arange(3000) % 20)
    assert model.n_clusters_ > 2000 and (tmp_path / "many.html").stat().st_size < 3_000_000
    with opened(browser, tmp_path / "many.html") as page:
        assert f"the 200 largest of {model.n_clusters_:,} clusters" in page.locator("#rows").inner_text()
        assert "The 30 largest clusters are listed" in page.locator("#sizes").inner_text()
        assert "The 12 most frequent of 20 labels" in page.locator("#agreement").inner_text()
        assert len(downloaded(page)) == 3001


def test_paper_has_the_whole_path_and_no_table_is_cut(browser, cluster_page):
    path, _ = cluster_page
    with opened(browser, path, viewport={"width": 700, "height": 900}) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details table").is_visible()
        assert page.evaluate("[...document.querySelectorAll('.wide')].every(node => node.scrollWidth <= node.clientWidth + 1)")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not page.locator("details table").is_visible()


@pytest.mark.parametrize(
    "model",
    [
        KMeans(n_clusters=3),
        DPMeans(penalty=300.0),
        DPMeans(n_clusters=3),
        DPMeans(divergence="kullback-leibler"),
        FullCovarianceMeans(n_clusters=3),
        KFeatures(n_components=2),
        IndianBuffet(n_sweeps=20),
    ],
    ids=repr,
)
def test_every_estimator_writes_a_page(browser, blobs, tmp_path, model):
    X = np.abs(blobs[0])
    path = tmp_path / "page.html"
    with np.errstate(all="ignore"), pytest.warns() if isinstance(model, IndianBuffet) else nothing():
        model.fit(X)
    model.report(path)
    with opened(browser, path) as page:
        assert page.locator("h1").inner_text().split()[1].rstrip("s") in ("cluster", "feature")
        assert type(model).__name__ in page.locator("#run").inner_text()
        assert len(downloaded(page)) == 241


@contextmanager
def nothing():
    yield


def test_a_path_writes_its_own_page(browser, blobs, tmp_path):
    for kind in ("clusters", "features"):
        known = penalty_path(blobs[0], kind=kind, max_groups=5)
        known.report(tmp_path / "path.html")
        with opened(browser, tmp_path / "path.html") as page:
            assert page.locator("h1").inner_text().startswith(str(known.best_k))
            assert page.locator(".strip .field").count() == len(known.table)


def test_rows_are_not_pickled_and_can_be_given_again(blobs, tmp_path):
    X, _ = blobs
    model = DPMeans(penalty=300.0).fit(X)
    model.report(tmp_path / "a.html")
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=r"report\(path, X\)"):
        copy.report(tmp_path / "b.html")
    with pytest.raises(ValueError, match="240 rows"):
        copy.report(tmp_path / "b.html", X[1:])
    copy.report(tmp_path / "b.html", X)
    assert data_of(tmp_path / "a.html") == data_of(tmp_path / "b.html")
    with pytest.raises(ValueError, match="one for each row"):
        model.report(tmp_path / "c.html", labels=[1, 2])
