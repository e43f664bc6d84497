"""What a scheme's declaration still lacks before its page can be written."""

from collections.abc import Iterator

from conformance.spec.declarations import operations
from refimpl.spec import Operation, Scheme


def contracts(scheme: Scheme) -> list[Operation]:
    """Return the scheme's operations as its signatures declare them."""
    return [operations()[f"{scheme.name}.{function.__name__}"] for function in scheme.operations]


def gaps(scheme: Scheme) -> Iterator[str]:
    """Yield every array or parameter without a meaning and every choice without a convention, then what belongs to nothing."""
    arguments = dict.fromkeys(name for contract in contracts(scheme) for name in (*contract.arrays, *contract.parameters))
    results = {name for contract in contracts(scheme) for name in contract.results}
    yield from (f"{scheme.name}: {name} must have a meaning, got none" for name in arguments if name not in scheme.meanings)
    yield from (f"{scheme.name}: {name} must be an argument or a result, got a meaning without it" for name in scheme.meanings
                if name not in arguments and name not in results)
    choices = choices_of(scheme)
    yield from (f"{scheme.name}: {choice} must have a convention, got none" for choice in choices if choice not in scheme.conventions)
    yield from (f"{scheme.name}: {choice} must be a choice, got a convention without it" for choice in scheme.conventions
                if choice not in choices and choice.partition("=")[0] not in arguments)


def choices_of(scheme: Scheme) -> list[str]:
    """Return every choice of every parameter that has choices (``layout=half``), once."""
    parameters = [parameter for contract in contracts(scheme) for parameter in contract.parameters.values()]
    return list(dict.fromkeys(f"{parameter.name}={choice}" for parameter in parameters for choice in parameter.choices))
