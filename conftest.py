"""Settings shared by tests and notebooks."""

pytest_plugins = ["forked_kernels"]
