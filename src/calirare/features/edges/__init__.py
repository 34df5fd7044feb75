"""What edges say of a node: planned once, then summed, dated, compared with what is usual."""
