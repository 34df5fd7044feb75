"""Backbones: graph in, logits out."""

from calirare.models.backbone import BACKBONES, ModuleBackbone, evaluating, make_backbone, predict_logits
from calirare.models.gat import GAT
from calirare.models.gcn import GCN
from calirare.models.gin import GIN
from calirare.models.inputs import GraphInputs
from calirare.models.sage import GraphSAGE
from calirare.models.sparse import SparseMatrix

__all__ = [
    "BACKBONES",
    "GAT",
    "GCN",
    "GIN",
    "GraphInputs",
    "GraphSAGE",
    "ModuleBackbone",
    "SparseMatrix",
    "evaluating",
    "make_backbone",
    "predict_logits",
]
