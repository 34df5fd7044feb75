"""What is shown of one case: its attributes, its edges, what to draw around it."""
