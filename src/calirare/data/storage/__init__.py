"""Files that are safe to open and to write: checked before memory is taken, whole or not at all."""
