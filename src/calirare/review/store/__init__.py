"""What people did at a desk, kept in a database: decisions, settings, assignments; rows are added, never changed."""

from calirare.review.store.decisions import Decision, DecisionStore

__all__ = ["Decision", "DecisionStore"]
