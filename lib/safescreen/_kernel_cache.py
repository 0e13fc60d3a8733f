"""Cache of compiled kernels: the folder that keeps them, and the test whether a kernel may be
loaded.

numba itself finds a compiled kernel by the content of the file in which the kernel is written.
After a change of a constant or a kernel in another file, numba would load the old code. Here a
kernel is found by a hash of everything that its compiled form depends on: its bytecode and options,
the constants that it names, and the functions that it calls, described in the same way. So a loaded
kernel is never out of date, and a change elsewhere compiles nothing.

``NUMBA_CACHE_DIR`` names the folder; without this variable it lies in the user's cache folder. If
there is no folder, or if it cannot be written, kernels are compiled in memory, and one warning says
so. Processes that start together, such as the workers of a grid search, share the folder. One
process compiles a kernel; the other processes that need the kernel wait, and load it.
"""

import contextlib
import functools
import hashlib
import os
import sys
import time
import types
from pathlib import Path

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.dispatcher import Dispatcher

from safescreen._warnings import warn

# numba.config gets its attributes when it is read:
# pyright: reportAttributeAccessIssue=false, reportPrivateImportUsage=false

try:
    import fcntl
except ImportError:  # Windows: every process compiles
    fcntl = None

PATIENCE = 60.0
"""Seconds that a process waits for another process to compile a kernel, before it compiles the
kernel itself.
"""

_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""Settings of numba.config that change the compiled code, apart from the processor."""

_FIXED = {"builtins", "math", "numba", "numpy"}
"""Modules whose versions determine their contents."""

_NAMED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
_NAMED += (np.ufunc, np.dtype, np.generic, numba.types.Type)
"""Types of objects in these modules that a name or a text identifies."""


def source_hash():
    """Return the SHA-256 (hex) of the Python sources of the package, names included."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _UnknownError(Exception):
    """A kernel names something that :func:`_describe` does not know."""


def _fingerprint(kernel):
    """Return the hash (hex) of everything that the compiled form of a kernel depends on."""
    versions = (sys.version, numba.__version__, np.__version__)
    settings = tuple(getattr(numba.config, name, None) for name in _SETTINGS)
    try:
        described = _describe(kernel, frozenset(), {})
    except _UnknownError:  # the kernel may depend on any source file
        written = Path(kernel.py_func.__code__.co_filename).read_bytes()
        described = (source_hash(), hashlib.sha256(written).hexdigest())
    return hashlib.sha256(repr((versions, settings, described)).encode()).hexdigest()


def _describe(value, names, seen):
    """Describe a value that a kernel names. Equal descriptions give the same compiled code.

    `names` are the attributes that the kernel may read from a module. `seen` numbers the functions
    that have been described already.
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        return (repr(type(value)), *(_describe(item, names, seen) for item in value))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return (repr(value.dtype), value.shape, value.strides, value.tobytes())
    if isinstance(value, Dispatcher):
        options = sorted(value.targetoptions.items())
        return (type(value).__name__, repr(options), _describe(value.py_func, names, seen))
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return (repr(value), value._fields, repr(value._field_defaults))
    is_module = isinstance(value, types.ModuleType)
    home = value.__name__ if is_module else getattr(value, "__module__", type(value).__module__)
    if isinstance(value, _NAMED) and str(home).partition(".")[0] in _FIXED:
        return (home, getattr(value, "__qualname__", None) or repr(value))
    if is_module:
        asked = sorted(name for name in names if hasattr(value, name))
        return [(name, _describe(getattr(value, name), names, seen)) for name in asked]
    if isinstance(value, types.FunctionType):
        return _describe_function(value, seen)
    raise _UnknownError


def _describe_function(function, seen):
    if function in seen:
        return seen[function]
    seen[function] = len(seen)
    code = function.__code__
    names = frozenset(_names(code))
    used = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        used[f"closure {name}"] = cell.cell_contents
    used["defaults"] = function.__defaults__
    used["keyword defaults"] = tuple(sorted((function.__kwdefaults__ or {}).items()))
    return (
        _describe_code(code),
        [(name, _describe(used[name], names, seen)) for name in sorted(used)],
    )


def _names(code):
    """Yield the global names and attributes that code uses, functions inside it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _describe_code(code):
    constants = [
        _describe_code(constant) if isinstance(constant, types.CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    variables = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, code.co_exceptiontable, arguments, variables, constants)


def cache_of(kernel):
    """Return numba's cache of a kernel, as the kernel and its globals are now."""
    folder = _folder()
    if folder is None:
        return _NoCache("this user has no home folder")
    file = kernel.py_func.__code__.co_filename
    module = sys.modules.get(kernel.py_func.__module__)
    is_imported = getattr(module, "__spec__", None) is not None  # perhaps from an archive
    if not (os.path.exists(file) or is_imported):  # a function that was typed at a prompt
        return NullCache()
    try:
        return _Cache(kernel, folder)
    except OSError:
        return _NoCache(f"{file} cannot be read")


def _folder():
    """Return the folder of compiled kernels, or None if the user has no home folder."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME", "")
            if not os.path.isabs(base):  # its specification ignores a relative path
                base = Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return Path(base) / "safescreen" / "numba"


class _Locator(_CacheLocator):
    """Locator that tells numba the folder and the name of the files of a kernel."""

    def __init__(self, kernel, folder):
        self._py_file = kernel.py_func.__code__.co_filename
        self._path = os.path.join(folder, self.get_suitable_cache_subpath(self._py_file))
        self._stamp = _fingerprint(kernel)

    def get_cache_path(self):
        return self._path

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._stamp[:24]


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function, locator):
        self._lineno = function.__code__.co_firstlineno
        self._locator = locator
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Cache(FunctionCache):
    """Cache of one kernel by numba. A kernel that cannot be read is compiled, and a kernel that
    cannot be written is kept in memory.
    """

    def __init__(self, kernel, folder):
        self._folder = folder
        self._impl_class = functools.partial(_Implementation, locator=_Locator(kernel, folder))
        super().__init__(kernel.py_func)

    def _index_key(self, sig, codegen):
        return (*super()._index_key(sig, codegen), _fields(getattr(sig, "args", sig)))

    def _load_overload(self, sig, target_context):
        try:
            return super()._load_overload(sig, target_context)
        except OSError:
            return None
        except Exception:  # a damaged file: whatever unpickling it raises
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(f"{self._folder} cannot be written ({error.strerror or error})")


def _fields(argument_types):
    """Return the fields of all records among types, which numba compares without their names: a
    kernel reads a field by its place.
    """
    return tuple(
        (getattr(one, "fields", ()), _fields(one.types))
        for one in argument_types
        if isinstance(one, numba.types.BaseTuple)
    )


class _NoCache(NullCache):
    def __init__(self, reason):
        self._reason = reason

    def save_overload(self, sig, data):
        _warn_once(self._reason)


_told = []


def _warn_once(reason):
    if not _told:
        _told.append(reason)
        warn(
            f"safescreen keeps its compiled kernels in memory, because {reason}. Every process "
            "will compile them again. Set the environment variable NUMBA_CACHE_DIR to a folder "
            "that can be written.",
            RuntimeWarning,
        )


@contextlib.contextmanager
def lock_of(function):
    """Hold the lock of a kernel among processes. Go on without the lock after :data:`PATIENCE`
    seconds, or if files cannot be locked.
    """
    folder = None if fcntl is None else _folder()
    file = None
    if folder is not None:
        file = _lock_file(folder / f"{function.__module__}.{function.__qualname__}.lock")
    if file is None:
        yield
        return
    with file:
        is_held = _wait_for(file)
        try:
            yield
        finally:
            if is_held:
                fcntl.flock(file, fcntl.LOCK_UN)  # a fork may have the file open, too


def _lock_file(path):
    """Open the lock file of a kernel. Return None if it cannot be opened."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    return None


def _wait_for(file):
    """Lock a file, and return whether this has succeeded."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        except OSError:
            return False
