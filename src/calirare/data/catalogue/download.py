"""Download the upstream files of a benchmark and compare them with their pinned sha256."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

from calirare.data.catalogue.entries import Benchmark
from calirare.errors import DataError, optional

logger = logging.getLogger(__name__)


def data_folder(cache_dir: str | Path | None = None) -> Path:
    """Where benchmark graphs are kept: `cache_dir`, else the variable CALIRARE_DATA, else the platform's cache folder.

    The last is what `pooch.os_cache("calirare")` gives, worked out here so that a cached graph loads without pooch.
    """
    chosen = cache_dir or os.environ.get("CALIRARE_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "calirare" / "calirare" / "Cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "calirare"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calirare"


def download_upstream(benchmark: Benchmark, folder: Path, mirror: str | None) -> Path:
    """The folder with the upstream files, each of them complete and, where a sha256 is pinned, equal to it.

    Files that are already there and right are not downloaded again.

    Args:
        benchmark: Whose files.
        folder: They go to `folder/raw/<name>`.
        mirror: Address that serves them as `<mirror>/<name>/<file>`; None: the variable CALIRARE_MIRROR, else the
            authors' own addresses.
    """
    pooch = optional("pooch", "data")
    mirror = mirror or os.environ.get("CALIRARE_MIRROR")
    here = folder / "raw" / benchmark.name
    urls = {
        file.name: f"{mirror.rstrip('/')}/{benchmark.name}/{file.name}" if mirror else file.url
        for file in benchmark.files
    }
    registry = {file.name: f"sha256:{file.sha256}" if file.sha256 else None for file in benchmark.files}
    fetcher = pooch.create(path=here, base_url="", registry=registry, urls=urls, retry_if_failed=1)
    # pooch announces each file on stderr by itself; a library logs and leaves printing to its caller.
    pooch_logger = pooch.get_logger()
    level = pooch_logger.level
    pooch_logger.setLevel(logging.WARNING)
    try:
        _fetch_all(fetcher, benchmark, urls, folder, pooch.HTTPDownloader(timeout=60))
    finally:
        pooch_logger.setLevel(level)
    return here


def _fetch_all(fetcher: Any, benchmark: Benchmark, urls: dict[str, str], folder: Path, downloader: Any) -> None:
    for file in benchmark.files:
        logger.info("Fetching %s from %s", file.name, urls[file.name])
        if file.sha256 is None:
            logger.warning("%s has no pinned sha256; the graph is checked by its statistics instead.", file.name)
        try:
            fetcher.fetch(file.name, downloader=downloader)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{file.name} could not be fetched from {urls[file.name]}: {_short(error)} "
                f"Without network, put {benchmark.name}.npz into {folder} (or set CALIRARE_DATA to where it is)."
            ) from error


def _short(error: Exception) -> str:
    line = " ".join(str(error).split())
    return line if line.endswith(".") else line + "."
