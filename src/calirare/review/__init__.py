"""The review desk: a web app in which people decide the cases, and the database that keeps what they decided."""
