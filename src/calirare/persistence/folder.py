"""A fitted model as a folder that is safe to load: JSON and safetensors, no pickle.

`model.json` names the arrays file and its sha256, and holds a checksum of itself against damage. How it is written, so
that a crash or a second writer at any moment leaves one whole model: see `calirare.persistence.writing`.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from calirare.data.archive import write_atomically
from calirare.data.graph import RareGraph, Split
from calirare.detectors.networks.backbone import ModuleBackbone, make_backbone
from calirare.detectors.networks.loop import History
from calirare.errors import CalirareError, DataError, InputError, ModelFormatError
from calirare.estimator.methods import get_method
from calirare.persistence.checks import check_header, check_left_out, check_size, restore_calibrator
from calirare.persistence.writing import HEADER, header_checksum, name_by_content, reading, staged
from calirare.uncertainty.jackknife import LeftOut

if TYPE_CHECKING:
    from calirare.calibration import Calibrator
    from calirare.estimator.classifier import RareCategoryClassifier

FORMAT_VERSION = 2
_LARGEST_JSON = 64 * 2**20
_MODULE = "a torch.nn.Module"


def save(classifier: RareCategoryClassifier, path: str | Path, graph: RareGraph | None = None) -> None:
    """Write the fitted classifier to the folder `path`; with `graph`, the graph beside it.

    Raises:
        DataError: The folder cannot be written to, or the disk is full; a model that was there is as it was.
    """
    if not str(path).strip():
        raise InputError("path must name a folder to save the model in; it is empty. For the current folder give '.'.")
    arrays, header = _describe(classifier)
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"path must be a folder to save the model in; {folder} is a file.")
    try:
        with staged(folder) as staging:
            _write(staging, arrays, header, graph)
    except CalirareError as error:
        if isinstance(error, DataError) and isinstance(error.__cause__, OSError):
            cause = error.__cause__  # name the folder that was asked for, not the hidden one inside it
            raise DataError(f"{folder} cannot be written: {cause.strerror or cause}.") from cause
        raise
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _write(folder: Path, arrays: dict[str, np.ndarray], header: dict[str, Any], graph: RareGraph | None) -> None:
    from safetensors.numpy import save as to_bytes

    content = to_bytes(arrays)
    digest = hashlib.sha256(content).hexdigest()
    header["arrays"] = {"file": name_by_content("arrays", digest, "safetensors"), "sha256": digest}
    replace_file(folder / header["arrays"]["file"], content)
    if graph is not None:
        header["graph"] = _save_graph(graph, folder)
    header["checksum"] = header_checksum(header)
    replace_file(folder / HEADER, json.dumps(header, indent=1, allow_nan=True).encode())


def load(path: str | Path, backbone: torch.nn.Module | None = None) -> RareCategoryClassifier:
    """Read a model folder written by `save`. Nothing in it is executed.

    Args:
        path: The folder.
        backbone: The module, for a model whose backbone was a user's own: code is never stored.

    >>> import calirare as cr, tempfile
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cr.RareCategoryClassifier(epochs=5, weight_decay=5e-3).fit(graph).save(folder)
    ...     load(folder).predict(graph).shape
    (300,)
    """
    folder = Path(path)
    with reading(folder):
        header = _read_header(folder)
        arrays = _read_arrays(folder, header)
    try:
        return _rebuild(header, arrays, backbone)
    except (KeyError, TypeError, IndexError, AttributeError, RuntimeError, ValueError, OverflowError) as error:
        raise ModelFormatError(
            f"{folder} is not a complete calirare model ({type(error).__name__}: {error}); save it again."
        ) from error


def load_graph(path: str | Path) -> RareGraph:
    """The graph stored beside a model by `save(…, graph)`."""
    folder = Path(path)
    with reading(folder):
        entry = _read_header(folder).get("graph")
        if entry is None:
            raise ModelFormatError(
                f"{folder} holds no graph; fit with `calirare fit`, or save with clf.save(path, graph)."
            )
        return RareGraph.load(_checked_file(folder, entry))


def model_version(path: str | Path) -> str:
    """A short name for exactly this model: the head of its arrays' sha256."""
    entry = _read_header(Path(path)).get("arrays")
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        raise ModelFormatError(f"{path} names no arrays; the model is incomplete. Save it again.")
    return str(entry["sha256"][:12])


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that it is either whole or not there: temporary name, flush to disk, rename."""
    with write_atomically(path) as stream:
        stream.write(content)


def _save_graph(graph: RareGraph, folder: Path) -> dict[str, str]:
    temporary = folder / "graph.npz"
    graph.save(temporary)
    digest = _sha256(temporary)
    final = name_by_content("graph", digest, "npz")
    os.replace(temporary, folder / final)
    return {"file": final, "sha256": digest}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _describe(classifier: RareCategoryClassifier) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The fitted state as named arrays and a JSON header."""
    import calirare

    left_out = classifier.left_out_
    arrays = {f"model/{name}": value.detach().cpu().numpy() for name, value in classifier.model_.state_dict().items()}
    for name in ("nodes", "y", "logits", "probabilities", "rows", "directions"):
        arrays[f"left_out/{name}"] = getattr(left_out, name)
    arguments = classifier.get_params(deep=False)
    if isinstance(arguments["backbone"], torch.nn.Module):
        arguments["backbone"] = _MODULE
    header: dict[str, Any] = {
        "format": "calirare model",
        "format_version": FORMAT_VERSION,
        "calirare": calirare.__version__,
        "arguments": arguments,
        "class_names": list(classifier.class_names_),
        "rare_class": classifier.rare_class_,
        "num_features": classifier.n_features_in_,
        "feature_names": None if classifier.feature_names_ is None else list(classifier.feature_names_),
        "schema": classifier.schema_,
        "shares": classifier.shares_.tolist(),
        "history": asdict(classifier.history_),
        "calibrators": {},
    }
    for role in ("calibrator_", "decision_"):
        calibrator = getattr(classifier, role)
        if calibrator is not None:
            header["calibrators"][role] = _describe_calibrator(calibrator, role, arrays)
    if classifier.split_ is not None:
        for part in ("train", "val", "test"):
            arrays[f"split/{part}"] = getattr(classifier.split_, part)
    return {name: np.ascontiguousarray(value) for name, value in arrays.items()}, header


def _describe_calibrator(calibrator: Calibrator, role: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in calibrator.state().items():
        if isinstance(value, np.ndarray):
            arrays[f"{role}/{name}"] = value
        else:
            plain[name] = value
    return plain


def _read_header(folder: Path) -> dict[str, Any]:
    file = folder / "model.json"
    if not file.is_file():
        raise ModelFormatError(
            f"{folder} is not a calirare model: it has no model.json. Give the folder that `save` or `calirare fit --out` wrote."
        )
    if file.stat().st_size > _LARGEST_JSON:
        raise ModelFormatError(f"{file} is larger than {_LARGEST_JSON >> 20} MiB and is not read.")
    try:
        header = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            f"{file} is not valid JSON ({error}); it was truncated or edited. Save the model again."
        ) from error
    if not isinstance(header, dict) or header.get("format") != "calirare model":
        raise ModelFormatError(f"{file} does not describe a calirare model.")
    if header.get("format_version") != FORMAT_VERSION:
        raise ModelFormatError(
            f"{file} has format version {header.get('format_version')!r}; this calirare reads {FORMAT_VERSION}. Save the model again with this version."
        )
    if header.get("checksum") != header_checksum(header):
        raise ModelFormatError(f"{file} was damaged or edited: its checksum differs. Save the model again.")
    return header


def _checked_file(folder: Path, entry: Any) -> Path:
    """The file an entry names, inside the folder and with the sha256 it was written with."""
    name, digest = (entry.get("file"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or Path(name).name != name or not isinstance(digest, str):
        raise ModelFormatError(f"{folder / 'model.json'} names a file outside its folder, or none.")
    file = folder / name
    if not file.is_file() or file.is_symlink():
        raise ModelFormatError(f"{folder} lacks {name}; the model is incomplete. Save it again.")
    if _sha256(file) != digest:
        raise ModelFormatError(
            f"{file} was truncated or edited: its sha256 differs from the one in model.json. Save the model again."
        )
    return file


def _read_arrays(folder: Path, header: dict[str, Any]) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    file = _checked_file(folder, header.get("arrays"))
    try:
        return from_bytes(file.read_bytes())
    except (SafetensorError, ValueError) as error:
        raise ModelFormatError(f"{file} is not a safetensors file ({error}).") from error


def _rebuild(
    header: dict[str, Any], arrays: dict[str, np.ndarray], backbone: torch.nn.Module | None
) -> RareCategoryClassifier:
    from calirare.estimator.classifier import RareCategoryClassifier
    from calirare.estimator.fitting import choose_device

    arguments = dict(header["arguments"])
    if arguments["backbone"] == _MODULE:
        if backbone is None:
            raise ModelFormatError(
                "this model's backbone is a module of your own; pass it: cr.load(path, backbone=module)."
            )
        arguments["backbone"] = backbone
    check_header(header)
    classifier = RareCategoryClassifier(**arguments)
    num_classes, weights = len(header["class_names"]), _group(arrays, "model/")
    check_size(classifier, header["num_features"], weights)
    model = make_backbone(
        classifier.backbone,
        header["num_features"],
        num_classes,
        hidden=classifier.hidden,
        dropout=classifier.dropout,
    )
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    try:
        device = choose_device(classifier.device)
    except InputError:
        device = torch.device("cpu")
    classifier.model_ = model.to(device).eval()
    classifier.classes_ = np.arange(num_classes)
    classifier.class_names_ = tuple(header["class_names"])
    classifier.rare_class_ = int(header["rare_class"])
    classifier.n_features_in_ = int(header["num_features"])
    names = header["feature_names"]
    classifier.feature_names_ = None if names is None else tuple(names)
    classifier.schema_ = header["schema"]
    classifier.shares_ = np.asarray(header["shares"])
    classifier.history_ = History(**header["history"])
    left_out = LeftOut(**_group(arrays, "left_out/"))
    check_left_out(left_out, num_classes, sum(value.numel() for value in model.parameters()))
    classifier._left_out = left_out
    classifier.labelled_nodes_, classifier.labelled_y_ = left_out.nodes, left_out.y
    classifier._trained, classifier._graph = None, None
    parts = _group(arrays, "split/")
    classifier.split_ = Split(**parts) if parts else None
    for role in ("calibrator_", "decision_"):
        plain = header["calibrators"].get(role)
        state = None if plain is None else {**plain, **_group(arrays, f"{role}/")}
        setattr(classifier, role, _rebuild_calibrator(classifier.method, role, state, num_classes))
    return classifier


def _rebuild_calibrator(method: str, role: str, state: dict[str, Any] | None, num_classes: int) -> Calibrator | None:
    factory = get_method(method).calibrator
    calibrator = None if factory is None else factory()
    wanted = calibrator is not None and not (role == "decision_" and calibrator.keeps_decision)
    if wanted != (state is not None):
        raise ModelFormatError(f"model.json does not fit its method {method!r}; the folder was edited.")
    return None if calibrator is None or state is None else restore_calibrator(calibrator, state, num_classes)


def _group(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


__all__ = ["FORMAT_VERSION", "ModuleBackbone", "load", "load_graph", "model_version", "replace_file", "save"]
