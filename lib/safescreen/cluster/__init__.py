"""Triplets spread over the workers of a Dask cluster, and the check that those compute what this
process would.
"""

from safescreen.cluster.sharded import ShardedTriplets
from safescreen.cluster.workers import ClusterError

__all__ = ["ClusterError", "ShardedTriplets"]
