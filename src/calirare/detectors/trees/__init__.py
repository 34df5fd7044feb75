"""The trees under `forest` and `boosting`: grown by scikit-learn or LightGBM, kept and walked as plain arrays."""
