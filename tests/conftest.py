"""What every test shares: one thread per worker, and skips for what this machine lacks."""

from __future__ import annotations

import os

# Set before torch and polars are imported: test processes run side by side, and what is tiny gains nothing from threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import gc
import linecache
import logging
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import settings

gc.disable()  # what is collected stays to the end: a tenth of the time to collect it goes into looking through it again

settings.register_profile("few", max_examples=10, deadline=None, derandomize=True)  # what is new breaks, not luck
settings.register_profile("many", max_examples=1000, deadline=None)  # pytest --hypothesis-profile=many
settings.load_profile("few")

# Tests that start a second Python find the package of this checkout, installed or not.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).resolve().parents[1] / "src"), os.environ.get("PYTHONPATH")])
)

BENCHMARKS = ("cora", "citeseer", "pubmed", "dblp", "facebook")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_data_folder() -> Path | None:
    """The folder with the five benchmark graphs, or None."""
    named = os.environ.get("CALIRARE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if all((folder / f"{name}.npz").exists() for name in BENCHMARKS) else None


def find_browser() -> str | None:
    """The path of an installed Chromium, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def why_skip(item: pytest.Item) -> str | None:
    """The reason why this machine cannot run a marked test, or None."""
    if item.get_closest_marker("datasets") and find_data_folder() is None:
        return "the benchmark graphs are neither in CALIRARE_DATA nor in ../shared/data"
    if item.get_closest_marker("browser") and find_browser() is None:
        return "no Chromium on this machine"
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            return "no CUDA device on this machine"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples are in src: to look for some in every file of tests takes a sixteenth of the time to collect them."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := why_skip(item):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
    # caplog looks at every logger, six times for every test: most are torch's, which no test listens to.
    loggers = logging.root.manager.loggerDict
    for name in [name for name in loggers if name.split(".")[0] == "torch"]:
        del loggers[name]
    linecache.clearcache()  # every example looks whether each file in it has changed, and torch has read thousands


def pytest_unconfigure() -> None:
    gc.freeze()  # what is left goes with the process: to look through it all once more takes over a second


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Workers report what a test gave, not that it was set up and taken down too: that takes as long as a short test."""
    asked = item.config.option
    if not hasattr(item.config, "workerinput") or asked.durations is not None or asked.xmlpath:
        return None
    hook, is_set_up = item.ihook, True
    steps: dict[Literal["setup", "call", "teardown"], Callable[[], Any]] = {
        "setup": partial(hook.pytest_runtest_setup, item=item),
        "call": partial(hook.pytest_runtest_call, item=item),
        "teardown": partial(hook.pytest_runtest_teardown, item=item, nextitem=nextitem),
    }
    for when, step in steps.items():
        if when == "call" and not is_set_up:
            continue
        call = pytest.CallInfo.from_call(step, when, reraise=(pytest.exit.Exception, KeyboardInterrupt))
        report = hook.pytest_runtest_makereport(item=item, call=call)
        is_set_up &= report.passed
        if when == "call" or not report.passed:
            hook.pytest_runtest_logreport(report=report)
    getattr(item, "funcargs", {}).clear()  # what a test was given goes when it is done
    return True


@contextmanager
def resampling_briefly() -> Iterator[None]:
    """Intervals around metrics from two draws: tests/metrics looks at them, elsewhere they only take time."""
    import calirare.metrics  # noqa: F401 - `calirare.metrics.summary` is also a function

    from_many = sys.modules["calirare.metrics.bootstrap"].bootstrap_intervals

    def from_few(*arguments: Any, num_resamples: int = 2, **options: Any) -> Any:
        return from_many(*arguments, num_resamples=min(num_resamples, 2), **options)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("bootstrap", "summary"):
            patch.setattr(sys.modules[f"calirare.metrics.{module}"], "bootstrap_intervals", from_few)
        yield


@pytest.fixture
def few_resamples() -> Iterator[None]:
    """`resampling_briefly`, for one test."""
    with resampling_briefly():
        yield


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasons by columns for five nodes of a queue: tests/decisions looks at them, elsewhere they only take time."""
    from calirare.decisions import why

    monkeypatch.setattr(why, "FULL", 5)
    monkeypatch.setattr(why, "MOST_FULL", 5)


@pytest.fixture(scope="module")
def random_labels() -> Iterator[None]:
    """Labels count as drawn at random: tests/evaluation looks whether they are, for which a further model is fitted."""
    import calirare.evaluation  # noqa: F401 - `calirare.evaluation.first_lines` is also a function

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["calirare.evaluation.first_lines"], "unlike_of", lambda *_: None)
        yield


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """Intervals from a hundred maps, for a whole file: tests/uncertainty looks at them, elsewhere they only take time."""
    from calirare.estimator import sureness

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sureness, "calibration_draws", partial(sureness.calibration_draws, num_draws=100))
        yield


@pytest.fixture
def two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that are refitted to leave labels out are refitted twice, not five times."""
    from calirare.detectors.networks import trained

    monkeypatch.setattr(trained, "fold_numbers", partial(trained.fold_numbers, num_folds=2))


@contextmanager
def training_briefly() -> Iterator[None]:
    """Ten epochs, two steps to rest, two folds where that is no rest, the first penalty and the first columns of a linear
    model, few trees beside them in the default, intervals from a hundred maps and those around metrics from two draws:
    tests/detectors, tests/uncertainty and tests/metrics look at where these end, elsewhere they only take time."""
    from calirare.detectors import GCN, Boosting, Forest, Linear, linear, stack
    from calirare.detectors.networks import trained
    from calirare.detectors.networks.fitting import rest, training
    from calirare.estimator import sureness

    train = training.train

    def train_briefly(*arguments: Any, epochs: int, **options: Any) -> Any:
        return train(*arguments, epochs=min(epochs, 10), **options)

    def choose_first(self: Linear, choices: Any, targets: Any, groups: Any) -> Any:
        penalty = linear._FIRST_PENALTY if self.penalty == "left_out" else float(self.penalty)
        return linear._fit(choices.first, penalty, targets, groups)

    with resampling_briefly(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "train", train_briefly)
        patch.setattr(Linear, "_choose", choose_first)
        patch.setattr(rest, "_BLOCK", 2)
        few = [Linear(), GCN(weight_decay=5e-3), Forest(trees=20), Boosting(rounds=20)]
        patch.setattr(stack, "default_members", lambda: few)
        patch.setattr(training, "come_to_rest", partial(rest.come_to_rest, most_steps=1))
        patch.setattr(trained, "fold_numbers", partial(trained.fold_numbers, num_folds=2))
        patch.setattr(sureness, "calibration_draws", partial(sureness.calibration_draws, num_draws=100))
        yield


@pytest.fixture(scope="session")
def briefly() -> Callable[[], AbstractContextManager[None]]:
    """`training_briefly`, for the models that many files share."""
    return training_briefly


@pytest.fixture
def quick_networks() -> Iterator[None]:
    """`training_briefly`, for one test."""
    with training_briefly():
        yield


@pytest.fixture(scope="module")
def quick_networks_here() -> Iterator[None]:
    """`training_briefly`, for a whole file and the models that its tests share."""
    with training_briefly():
        yield


@pytest.fixture
def same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a benchmark name the code that made them without reading all of its files, which takes seconds."""
    for module in ("grid", "leaderboard.cells"):
        monkeypatch.setattr(f"calirare.benchmark.{module}.code_digest", lambda *_: "this code")


@pytest.fixture
def downloads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that failed is tried again without the second that pooch waits in between."""
    from types import SimpleNamespace

    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the five benchmark graphs."""
    folder = find_data_folder()
    if folder is None:
        pytest.skip("the benchmark graphs are neither in CALIRARE_DATA nor in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The path of an installed Chromium."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on this machine")
    return path


@pytest.fixture(scope="session")
def browser(browser_path):
    """A running Chromium."""
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=60_000)  # a busy machine is no defect
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgres_url():
    """The address of a PostgreSQL server of our own, gone when the tests are done."""
    from private_postgres import NoPostgresError, private_postgres

    try:
        with private_postgres() as url:
            yield url
    except NoPostgresError as error:
        pytest.skip(str(error))
