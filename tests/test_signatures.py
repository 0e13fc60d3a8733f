"""Signatures of what users call fit on a screen: numpy's types are names there, not what they
stand for.
"""

import inspect
from types import ModuleType

import pytest

import safescreen as ss


def public():
    """Yield ``(name, what can be called)``: everything exported, the methods of classes, and
    what the modules among it export.
    """
    for name in ss.__all__:
        value = getattr(ss, name)
        exported = (
            {f"{name}.{part}": getattr(value, part) for part in value.__all__}
            if isinstance(value, ModuleType)
            else {name: value}
        )
        for path, thing in exported.items():
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                yield path, thing
                for method, function in inspect.getmembers(thing, callable):
                    if not method.startswith("_"):
                        yield f"{path}.{method}", function
            elif inspect.isroutine(thing):
                yield path, thing


CALLABLES = dict(public())


def test_what_is_looked_at():
    assert len(CALLABLES) > 200
    assert {
        "solve",
        "path",
        "SafeSVC.fit",
        "TripletMetric.fit_triplets",
        "spheres.gradient_bound",
        "svm.path",
    } <= set(CALLABLES)


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_a_signature_fits_on_a_screen(name):
    """Two lines, or half a line a parameter: SafeSVC, with the keywords of SVC, has thirty."""
    signature = inspect.signature(CALLABLES[name])
    most = min(max(200, 40 * len(signature.parameters)), 900)
    assert len(str(signature)) <= most
