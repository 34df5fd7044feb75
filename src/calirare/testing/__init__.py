"""What a calibrator and a detector promise, as checks that run on yours too.

>>> from calirare.calibration import TemperatureScaling
>>> from calirare.testing import check_calibrator
>>> check_calibrator(TemperatureScaling())
"""

from calirare.testing.calibrators import check_calibrator
from calirare.testing.detectors import check_detector
from calirare.testing.promises import members

__all__ = ["check_calibrator", "check_detector", "members"]
