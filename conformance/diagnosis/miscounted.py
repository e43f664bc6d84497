"""What code does that chooses what a layer does by a wrong count: only all kinds of layers together tell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.adapt.configured import kinds_of_layers
from conformance.calls.outcomes import Diagnosis
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.by_configuration import layers_asked

#: What code does that takes another layer for one of so many, and which.
MISCOUNTS: Mapping[str, tuple[str, Callable[[int, int], int]]] = {
    "layers-one-late": ("does in each layer what the one before should do", lambda layer, _: layer - 1),
    "layers-one-early": ("does in each layer what the next one should do", lambda layer, _: layer + 1),
    "layers-from-the-end": ("counts layers from the last", lambda layer, count: count - 1 - layer),
}
EXCHANGED = "kinds-exchanged", "does in each of two kinds of layers what the other should do"
#: What is named of layers that do what those of another kind should.
OF_OTHERS = ("as=", "not-turned", "turned,")
SHOULD = "do what the configuration says of the layer that is asked for"
FIX = "choose by the kind of the layer that is asked for, counted from 0, beginning with the first"
#: Which layers were asked for, and whether their answers were wrong.
Asked = Mapping[int, bool]


def miscounted(every: Mapping[str, Sequence[Checked]], found: Mapping[str, Diagnosis], path: Path) -> Iterator[tuple[str, Diagnosis]]:
    """Yield other diagnoses of what is wrong in layers that are counted wrongly; ``every`` has the checks of each kind of layers."""
    kinds = kinds_of_layers(path)
    functions: dict[object, dict[str, Asked]] = {}
    for of, checked in every.items():
        task = checked[0].task
        label = next(label for kind in kinds for label, there, _ in [task.descriptor.label.rpartition(f", {kind}")] if there)
        functions.setdefault((label, task.operation.partition(".")[2], task.dtype), {})[of] = _asked(checked)
    layers = {layer: kind for kind, those in kinds.items() for layer in those}
    for asked in functions.values():
        names = dict(_names(asked, found, layers))
        for of in asked.keys() & found.keys() if names else ():
            yield of, _told(of.split(":")[-2], names, found[of])


def _asked(checked: Sequence[Checked]) -> Asked:
    """Return which layers drawn calls asked for, and whether any of these is wrong."""
    asked = layers_asked(checked)
    return {layer: any(failed for other, failed in asked if other == layer) for layer, _ in asked}


def _names(asked: Mapping[str, Asked], found: Mapping[str, Diagnosis], layers: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Yield the miscounts by which just those layers are wrong that are, where some of a kind are and others aren't."""
    wrong = {layer: failed for each in asked.values() for layer, failed in each.items()}
    if any(len({*each.values()}) > 1 for each in asked.values()):
        for name, (does, taken) in MISCOUNTS.items():
            within = {layer: other for layer in wrong if (other := taken(layer, len(layers))) in layers}  # beyond an end it may do either
            predicted = {layer: layers[other] != layers[layer] for layer, other in within.items()}
            if any(predicted.values()) and all(wrong[layer] is other for layer, other in predicted.items()):
                yield name, f"{does}, as layers {_listed(wrong, failed=True)} (counted from 0) show beside {_listed(wrong, failed=False)}"
    elif len(asked) == len({*layers.values()}) == 2 and all(wrong.values()) and all(_of_other(of, found) for of in asked):
        yield EXCHANGED


def _listed(wrong: Asked, *, failed: bool) -> str:
    return ", ".join(str(layer) for layer, came in sorted(wrong.items()) if came is failed)


def _of_other(of: str, found: Mapping[str, Diagnosis]) -> bool:
    return of in found and all(name.partition("/")[2].startswith(OF_OTHERS) for name in found[of].mutants) and found[of].named


def _told(operation: str, names: Mapping[str, str], before: Diagnosis) -> Diagnosis:
    first, *others = (f"{operation}/{name}" for name in names)
    does, also = " or ".join(names.values()), (*others, *before.mutants)
    return Diagnosis((first,), does, SHOULD, FIX, also_fits=also)
