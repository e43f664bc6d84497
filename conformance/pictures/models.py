"""Pictures of released models: how fast each kind of layers turns, from the golden values."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.pictures.files import empty, save_figure
from conformance.pictures.panels import STROKES, label, title
from conformance.show.models import frequencies, golden, turns
from refimpl.configuration import read
from refimpl.schemes import axial_rope, rope

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from conformance.spec.vector_cases import Model, Vector


def draw(model: "Model") -> "Figure":
    """Return the wavelengths of every kind of layers, and how much slower than rope's they are."""
    return empty(lambda figure: _fill(figure, model))


def save(model: "Model", path: "Path") -> None:
    """Draw a model into a .png or .svg file, whole or not at all."""
    save_figure(lambda: draw(model), path)


def _fill(figure: "Figure", model: "Model") -> None:
    every = {kinds: turning(*frequencies(cases)) for kinds, cases in golden(model).items() if turns(cases)}
    images = [(f"{kinds}, axis {axis}", each) for kinds, cases in golden(model).items() for axis, each in enumerate(on_axes(cases[0]), 1)]
    places = "patches" if images else "tokens"
    title(figure, f"{model.name}: how many {places} a pair takes to turn once")
    original = {case.parameters["original_length"] for case, _ in every.values() if "original_length" in case.parameters}
    panels = figure.subplots(1, 1 if all(np.nanmax(slowed(*each)) < 1 + 1e-9 for each in every.values()) else 2, squeeze=False)[0]
    for stroke, (kinds, (case, theta)) in zip(STROKES, every.items(), strict=False):
        panels[0].semilogy(2 * np.pi / theta, base=10, label=f"{kinds}: {case.operation.partition('.')[0]}", **stroke)
        for ratios in panels[1:]:
            ratios.semilogy(slowed(case, theta), base=2, **stroke)
            label(ratios, "slowed by the scaling", "pair", "rope's frequency with this base / frequency")
    for stroke, (words, theta) in zip(STROKES, images, strict=False):
        panels[0].semilogy(2 * np.pi / theta, base=10, label=words, **stroke)
    for words, length in [*(("original", length) for length in original), ("longest", read(model.configuration).longest)]:
        if length is not None:
            dashes = (0, (6, 6)) if words == "original" else (0, (1, 3))
            panels[0].axhline(length, color="0.4", linewidth=0.9, linestyle=dashes, label=f"{words} length {length}")
    label(panels[0], "wavelengths", "pair", f"wavelength ({places} per turn)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, handlelength=4)


def turning(case: "Vector", theta: np.ndarray) -> tuple["Vector", np.ndarray]:
    """Return the frequencies without a number for pairs that don't turn."""
    return case, np.where(theta > 0, theta, np.nan)


def on_axes(case: "Vector") -> Iterator[np.ndarray]:
    """Yield the frequencies of each axis of an image, without a number for the pairs of the other."""
    p: Mapping[str, Any] = case.parameters
    if "axes" not in p:
        return
    turns_of_axes = axial_rope.pairs_of_axes(p["axes"], "alternating")
    for own, width, turn in zip(axial_rope.pairs_of_axes(p["axes"], p["order"]), p["axes"], turns_of_axes, strict=True):
        whole = p["ladder"] == "in_turns"
        ladder = rope.frequencies(head_dim=p["head_dim"] if whole else width, base=p["base"], like=np.zeros(0))
        theta = np.full(p["head_dim"] // 2, np.nan)
        theta[own] = ladder[turn] if whole else ladder
        yield theta


def slowed(case: "Vector", theta: np.ndarray) -> np.ndarray:
    """Return how many times slower each pair turns than without a scaling."""
    p: Mapping[str, Any] = case.parameters
    ratios: np.ndarray = p["base"] ** (-np.arange(theta.size) / theta.size) / theta
    return ratios
