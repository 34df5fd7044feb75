"""The estimator that ties detection, calibration and uncertainty together."""
