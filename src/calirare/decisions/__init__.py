"""From probabilities to alerts, reviews and costs."""
