"""Calibrators: a fitted model's logits in, calibrated probabilities out."""

from calirare.calibration.base import Calibrator, logits_from_probabilities, share_weights, target_shares
from calirare.calibration.cagcn import CaGCN
from calirare.calibration.gats import GATS
from calirare.calibration.isotonic import IsotonicCalibration
from calirare.calibration.scaling import MatrixScaling, PlattScaling, TemperatureScaling, VectorScaling

__all__ = [
    "GATS",
    "CaGCN",
    "Calibrator",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "TemperatureScaling",
    "VectorScaling",
    "logits_from_probabilities",
    "share_weights",
    "target_shares",
]
