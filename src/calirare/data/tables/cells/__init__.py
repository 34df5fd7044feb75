"""What the cells of one column mean: numbers, dates, categories, texts, gaps."""
