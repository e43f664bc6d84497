"""Pictures: every scheme has one, it is the same every time, and a file is written whole or not at all."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from conformance import cli, pictures
from conformance.adapt.selection import SelectionError
from conformance.calls.status import Status
from conformance.pictures import files
from refimpl.schemes import SCHEMES

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.figure import Figure

EVERY = (*pictures.PICTURES, *pictures.TOGETHER)
#: Committed beside the pages, where larger pictures would be a burden.
LARGEST_BYTES = 150_000


def test_every_scheme_has_a_picture_and_every_picture_a_scheme() -> None:
    assert set(pictures.PICTURES) == set(SCHEMES)
    assert not set(pictures.TOGETHER) & set(SCHEMES)


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    return {scheme: pictures.draw(scheme) for scheme in EVERY}


@pytest.mark.parametrize("scheme", EVERY)
def test_every_panel_says_what_its_axes_are(drawn: dict[str, Figure], scheme: str) -> None:
    panels = [axes for axes in drawn[scheme].axes if axes.get_label() != "<colorbar>"]

    assert panels
    assert all(axes.get_title() for axes in panels)
    assert all(any(each.get_xlabel() for each in axes.get_shared_x_axes().get_siblings(axes)) for axes in panels)
    assert all(any(each.get_ylabel() for each in axes.get_shared_y_axes().get_siblings(axes)) for axes in panels)
    assert drawn[scheme].get_suptitle()


@pytest.mark.parametrize("scheme", EVERY)
def test_every_bar_of_shades_says_its_unit(drawn: dict[str, Figure], scheme: str) -> None:
    assert all(axes.get_ylabel() for axes in drawn[scheme].axes if axes.get_label() == "<colorbar>")


@pytest.mark.parametrize("scheme", EVERY)
def test_a_copy_in_grey_tells_the_same(drawn: dict[str, Figure], scheme: str) -> None:
    from matplotlib.colors import to_rgb

    for axes in drawn[scheme].axes:
        named = [line for line in axes.lines if not line.get_label().startswith("_")]
        assert len({(line.get_linestyle(), line.get_marker()) for line in named}) == len(named)
        for image in axes.get_images():
            greys = np.array([[0.299, 0.587, 0.114] @ np.array(to_rgb(shade)) for shade in image.cmap(np.linspace(0, 1, 32))])
            assert (np.diff(greys) > 0).all()


@pytest.mark.parametrize("scheme", EVERY)
def test_no_words_leave_the_picture_or_cover_each_other(drawn: dict[str, Figure], scheme: str) -> None:
    figure = drawn[scheme]
    figure.draw_without_rendering()
    page = figure.bbox
    titles = [text.get_window_extent() for text in (*figure.texts, *(axes.title for axes in figure.axes if axes.get_title()))]

    legends = [legend.get_window_extent() for legend in (*figure.legends, *(axes.get_legend() for axes in figure.axes)) if legend]

    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in (*titles, *legends))
    assert not any(one.overlaps(other) for i, one in enumerate(titles) for other in titles[:i])


@pytest.mark.parametrize("scheme", EVERY)
def test_a_picture_drawn_again_is_the_same(drawn: dict[str, Figure], scheme: str) -> None:
    assert pictures.digest(pictures.draw(scheme)) == pictures.digest(drawn[scheme])


def test_no_two_schemes_have_one_picture(drawn: dict[str, Figure]) -> None:
    assert len({pictures.digest(figure) for figure in drawn.values()}) == len(EVERY)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_picture_is_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    for name in ("first", "second"):
        pictures.save("rope", tmp_path / f"{name}{suffix}")

    assert (tmp_path / f"first{suffix}").read_bytes() == (tmp_path / f"second{suffix}").read_bytes()


@pytest.mark.parametrize("scheme", EVERY)
def test_a_png_is_small_enough_to_be_committed(tmp_path: Path, scheme: str) -> None:
    pictures.save(scheme, tmp_path / "picture.png")
    content = (tmp_path / "picture.png").read_bytes()

    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(content) < LARGEST_BYTES


def test_an_svg_is_well_formed_and_has_no_date(tmp_path: Path) -> None:
    pictures.save("alibi", tmp_path / "picture.svg")
    content = (tmp_path / "picture.svg").read_text()

    assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314  our own file
    assert "<dc:date>" not in content


def test_a_matplotlibrc_of_the_user_changes_nothing(tmp_path: Path) -> None:
    import matplotlib as mpl

    pictures.save("t5", tmp_path / "plain.png")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 20, "image.cmap": "jet"}):
        pictures.save("t5", tmp_path / "styled.png")

    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


def test_a_digest_sees_a_changed_number_and_a_changed_word() -> None:
    def figure(number: float, word: str, named: str = "line") -> Figure:
        def fill(empty: Figure) -> None:
            axes = empty.subplots()
            empty.legend(axes.plot([0, 1], [0, number]), [named])
            axes.imshow(np.asarray([[number, 1.0]]))
            axes.set_title(word)

        return files.empty(fill)

    same = pictures.digest(figure(0.5, "one"))

    assert pictures.digest(figure(0.5 * (1 + 2.0**-52), "one")) == same
    assert pictures.digest(figure(0.501, "one")) != same
    assert pictures.digest(figure(0.5, "two")) != same
    assert pictures.digest(figure(0.5, "one", "another line")) != same


def test_a_digest_bears_the_last_bit_of_dyadic_and_decimal_fractions() -> None:
    fractions = np.asarray([k / 4_096 for k in range(1, 4_096)] + [k / 1_000 for k in range(1, 1_000)] + [1.0])

    for nudged in (np.nextafter(fractions, 0), np.nextafter(fractions, 2)):
        assert np.array_equal(files.rounded(nudged), files.rounded(fractions))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("picture.jpg", "file must end in .png or .svg, got 'picture.jpg'"),
        ("picture", "file must end in .png or .svg, got 'picture'"),
        ("absent/picture.png", "folder of the file must exist, got "),
        ("folder.png", "file must not be a folder, got "),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    (tmp_path / "folder.png").mkdir()

    assert cli.main(["show", "rope", "--plot", str(tmp_path / name)]) == Status.WRONG_USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"posenc: {message}")
    assert error.count("\n") == 1


def test_a_file_is_left_alone_where_drawing_fails(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_text("precious")

    def fails() -> Figure:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.save_figure(fails, path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_a_partial_file_is_taken_away_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(OSError, match="No space left"):
        pictures.save("binary", tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_replaces_the_one_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "picture.svg"
    path.write_text("old")

    assert cli.main(["show", "binary", "--plot", str(path)]) == Status.CONFORMS
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert "<svg" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_scheme_without_a_picture_is_said() -> None:
    with pytest.raises(SelectionError, match=r"^scheme must be one that has a picture \(none, .*\), got 'fire'$"):
        pictures.draw("fire")


def test_a_near_miss_of_a_scheme_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "sinusoidl", "--plot", str(tmp_path / "x.png")]) == Status.WRONG_USAGE
    assert "(did you mean sinusoidal?)" in capsys.readouterr().err


def test_absent_matplotlib_is_said_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None if name == "matplotlib" else importlib.util.find_spec(name))

    assert cli.main(["show", "rope", "--plot", str(tmp_path / "x.png")]) == Status.WRONG_USAGE
    assert capsys.readouterr().err == "posenc: matplotlib must be installed, got nothing (pip install matplotlib)\n"


def test_the_table_of_pictures_needs_no_matplotlib() -> None:
    program = "import sys; sys.modules['matplotlib'] = None; import conformance.pictures as p; print(len(p.PICTURES) + len(p.TOGETHER))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert int(done.stdout) == len(EVERY)
