"""What any detector says of labels that were left out: in folds, on one level, against other classes, and how likely it makes them."""
