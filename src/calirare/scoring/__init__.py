"""Every node's score: in memory, in parts, on a cluster, over HTTP."""
