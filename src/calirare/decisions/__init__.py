"""From probabilities to alerts, looks and costs."""
