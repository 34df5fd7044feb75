"""Where tables come from and go to: files, frames, databases."""
