"""How networks are trained unless something else is said: the paper's protocol, and our last epochs without dropout."""

from __future__ import annotations

HIDDEN = 16
DROPOUT = 0.5
EPOCHS = 200
LR = 0.01
WEIGHT_DECAY = 5e-4
SETTLE = 0.25
