"""Triplets spread over the workers of a Dask cluster, and a check that the workers compute the same
as this process.
"""

from safescreen.cluster.sharded import ShardedTriplets
from safescreen.cluster.workers import ClusterError

__all__ = ["ClusterError", "ShardedTriplets"]
