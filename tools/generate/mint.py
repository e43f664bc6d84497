"""Ask the oracle for every case over several processes; the order of the answers is the order of the cases."""

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from conformance.oracle import Answer, Refused, Tensor, UnknownError, answer, implementation
from refimpl.schemes import SCHEMES, operations
from tools.generate import models
from tools.generate.document import Task, document, tasks, tensor
from tools.generate.errors import GenerationError
from tools.generate.writer import Tree, write

NOTICE = "# Written by `python -m tools.generate`. README.md in this folder explains the format; schema.json states it.\n"
OPERATIONS = operations()
#: What the released models are called among the operations, and where their files are.
MODELS = "models"
NOTICE_OF_MODELS = NOTICE.replace("README.md in this folder", "README.md in the folder above")


def chosen(only: str | None) -> list[str]:
    """Return the names of the operations to generate, and that of the models, or raise where the oracle or the table lacks one."""
    every = [*OPERATIONS, MODELS]
    if only is not None and only not in every:
        message = f"operation must be one of {', '.join(every)}, got {only}"
        raise GenerationError(message)
    names = every if only is None else [only]
    for name in names:
        if name == MODELS:
            continue
        try:
            implementation(name)
        except UnknownError as unknown:
            raise GenerationError(str(unknown)) from None
    return names


def texts(names: Sequence[str], *, processes: int | None = None) -> dict[str, str]:
    """Return the YAML text of every operation named, and of the released models, by file name."""
    planned = {name: tasks(SCHEMES[name.split(".", 1)[0]], OPERATIONS[name]) for name in names if name != MODELS}
    released = models.released() if MODELS in names else []
    every = [task for group in [*planned.values(), *(model.tasks for model in released)] for task in group]
    _check_identities(every)
    answers = _answers([task for task in every if task.case.error is None], processes or os.cpu_count() or 1)
    found = {f"{name}.yaml": NOTICE + write(_document(name, group, answers)) for name, group in planned.items()}
    return found | {f"{MODELS}/{model.stem}.yaml": NOTICE_OF_MODELS + write(models.document(model, answers)) for model in released}


def _document(name: str, group: Sequence[Task], answers: dict[str, Answer]) -> dict[str, Tree]:
    scheme = SCHEMES[name.split(".", 1)[0]]
    return document(scheme, OPERATIONS[name], [(task, answers.get(task.identity)) for task in group])


def _check_identities(every: Sequence[Task]) -> None:
    seen: set[str] = set()
    for task in every:
        if task.identity in seen:
            message = f"{task.identity}: a case id must be used once, got a second case of that id"
            raise GenerationError(message)
        seen.add(task.identity)


def _answers(every: Sequence[Task], processes: int) -> dict[str, Answer]:
    calls = [(task.identity, task.operation.name, {n: tensor(a) for n, a in task.arrays.items()}, dict(task.parameters)) for task in every]
    if processes == 1:
        return dict(map(_answer, calls))
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        return dict(pool.map(_answer, calls, chunksize=2))


def _answer(call: tuple[str, str, dict[str, Tensor], dict[str, object]]) -> tuple[str, Answer]:
    identity, operation, inputs, parameters = call
    try:
        return identity, answer(operation, inputs, parameters)
    except Refused as refusal:
        message = f"{identity}: {refusal}"
        raise GenerationError(message) from None
