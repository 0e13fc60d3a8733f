"""Kernels for nbval that begin with everything imported: each is forked from one process that has
imported what notebooks import, which saves two or three processor seconds a notebook.

What a notebook imports, and all that it computes, is its own: a fork has a namespace and a memory
of its own. `safescreen notebooks` executes it in a kernel that begins with nothing."""

import contextlib
import functools
import gc
import multiprocessing
import os
import queue
import time
from unittest import mock

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.provisioning import local_provisioner

from safescreen_book.runner import inside

PRELOADED = (*inside.PRELOADED, "cvxpy", "ipykernel.kernelapp", "sklearn.datasets", "sympy")
INLINE = "module://matplotlib_inline.backend_inline"


class _Kernel:
    """A forked kernel, as `subprocess.Popen` would show it."""

    stdin = stdout = stderr = None

    def __init__(self, command, cwd, env):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", *PRELOADED, __name__])
        arguments = command[command.index("-f") :]
        ours, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(arguments, str(cwd), env, theirs))
        self._process.start()
        theirs.close()
        with ours:
            ours.recv()  # it leads a group of processes now, which is what is sent a signal
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self):
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)


def _run(arguments, cwd, env, ready):
    gc.freeze()  # what is imported stays, and need not be looked through
    os.setsid()
    with ready:
        ready.send(True)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    import matplotlib
    from ipykernel.kernelapp import IPKernelApp

    matplotlib.rcParams["backend"] = INLINE
    IPKernelApp.launch_instance(arguments)


def _launched(command, cwd=None, env=None, **others):
    return _Kernel(command, cwd or os.getcwd(), env or dict(os.environ))


def _wait_for_ready(client, timeout):
    """Wait for a first answer. nbval waits for the channel of outputs by itself, so it need not
    be listened to until nothing more comes, as jupyter_client does."""
    until = time.monotonic() + timeout
    while True:
        client.kernel_info()
        with contextlib.suppress(queue.Empty):
            client.get_shell_msg(timeout=1)
            return
        if not client.is_alive():
            raise RuntimeError("the kernel has died before it answered")
        if time.monotonic() > until:
            raise RuntimeError(f"the kernel has not answered in {timeout} seconds")


def forking(start):
    """Return a function that starts a kernel here, where a process can be forked."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return start

    @functools.wraps(start)
    def start_forked(*args, **options):
        with (
            mock.patch.object(local_provisioner, "launch_kernel", _launched),
            mock.patch.object(BlockingKernelClient, "wait_for_ready", _wait_for_ready),
        ):
            return start(*args, **options)

    return start_forked
