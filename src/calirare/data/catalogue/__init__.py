"""The benchmark graphs: downloaded, verified, converted."""
