"""Leave-one-out by influence: what the model would say without each label."""

from calirare.influence.leave_one_out import LeaveOneOut, choose_solver, left_out_changes, make_jacobian

__all__ = ["LeaveOneOut", "choose_solver", "left_out_changes", "make_jacobian"]
