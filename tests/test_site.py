"""The site has every document once, every picture once, and equations of every docstring in TeX; built, it is searched and fits a phone."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from refimpl.schemes import SCHEMES, operations
from tools.site import equations, navigation

ROOT = Path(__file__).parents[1]
PAGES = [
    path.relative_to(ROOT).with_suffix("").as_posix()
    for pattern in ("*.md", "docs/**/*.md", "vectors/*.md", "tools/site/*.md")
    for path in ROOT.glob(pattern)
]


def test_every_document_stands_in_the_navigation_once() -> None:
    listed = [page for parent in PAGES for pages in navigation.contents(parent).values() for page in pages]

    assert sorted([*listed, "README"]) == sorted(PAGES)


def test_the_gallery_shows_every_picture_once_with_a_page_that_is_there() -> None:
    text = navigation.gallery()
    pictures = re.findall(r"!\[.+\]\(/(.+)\)", text)
    pages = re.findall(r"^\[\]\(/([^)]+)\)", text, re.MULTILINE)

    assert sorted(pictures) == sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/schemes/pictures").glob("*.png"))
    assert all((ROOT / page).is_file() for page in pages)


@pytest.mark.parametrize(
    ("code", "tex"),
    [
        ("theta_j = base^(-2 j / head_dim)", r"{\theta_{j}} = \mathrm{base} ^ { - 2 \, j / \mathrm{head\_dim} }"),
        ("softmax(q k^T / sqrt(head_dim)) v", r"\operatorname{softmax} ( q \, k ^ T / \sqrt { \mathrm{head\_dim} } ) \, v"),
        ("q_m r_(m - n)", r"{q_{m}} \, r_ { m - n }"),
        ("-r1 |m - n|^r2", r"- {r_{1}} \, \left| m - n \right| ^ {r_{2}}"),
        ("f'(x, p) = f(x, p L / L')", "f' ( x , p ) = f ( x , p \\, L / L' )"),
        ("0.1 ln(factor) + 1", r"0.1 \, \operatorname{ln} ( \mathrm{factor} ) + 1"),
        ("r_delta = W_kR R_delta", r"{r_{\delta}} = {W_{kR}} \, {R_{\delta}}"),
    ],
)
def test_an_equation_is_typeset(code: str, tex: str) -> None:
    assert equations.is_equation(code)
    assert equations.tex(code) == tex


@pytest.mark.parametrize("code", ["head_dim", "dim // 2", "[batch] token", 'outside="raise"', "<rotate(x), cotangent>"])
def test_a_name_and_code_are_no_equations(code: str) -> None:
    assert not equations.is_equation(code)


def test_every_equation_of_an_operation_keeps_its_brackets() -> None:
    found = {code for operation in operations().values() for code in re.findall(r"``(.+?)``", operation.function.__doc__ or "")}
    written = [equations.tex(code) for code in found if equations.is_equation(code)]

    assert len(written) > 50
    assert [text for text in written if any(text.count(a) != text.count(b) for a, b in ("()", "{}", "[]"))] == []


SITE = ROOT / "build" / "site"
PYTHON = ROOT / ".venvs" / "site" / "bin" / "python"
built = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="no site is built (make site)")


@built
def test_the_search_index_has_every_scheme_and_finds_rope_by_a_word_of_its_page() -> None:
    index = json.loads((SITE / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").removesuffix(")"))

    assert {f"docs/schemes/{name}" for name in SCHEMES} <= set(index["docnames"])
    assert index["docnames"].index("docs/schemes/rope") in index["terms"]["rotari"]  # the stem of rotary


@built
def test_every_scheme_has_a_page_of_its_api() -> None:
    names = {path.stem for path in (SITE / "build" / "api").glob("*.html")}

    assert {f"refimpl.schemes.{name}" for name in SCHEMES} <= names


@built
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", ["index", "docs/schemes/rope", "docs/tutorial"])
def test_a_page_of_the_site_is_no_wider_than_the_screen(browser: Any, page: str, width: int) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.get((SITE / f"{page}.html").as_uri())

    assert browser.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@built
@pytest.mark.parametrize("page", ["docs/command-line", "docs/declarations", "docs/glossary"])
def test_a_table_of_two_columns_is_read_on_a_phone_without_scrolling(browser: Any, page: str) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.get((SITE / f"{page}.html").as_uri())
    wide = "table => !table.querySelector('th:nth-child(3)') && table.scrollWidth > table.parentElement.clientWidth"

    assert browser.execute_script(f"return [...document.querySelectorAll('table.docutils')].filter({wide}).length") == 0


@pytest.mark.skipif(not PYTHON.is_file(), reason="the generator of the site isn't installed (make site)")
@pytest.mark.parametrize(("link", "status"), [("#a-heading", 0), ("nowhere.md", 1), ("#nothing", 1)])
def test_a_link_that_leads_nowhere_fails_the_site(tmp_path: Path, link: str, status: int) -> None:
    (tmp_path / "page.md").write_text(f"# A heading\n\n[words]({link})\n", encoding="utf-8")
    command = [PYTHON, "-m", "sphinx", "-q", "-W", "-D", "root_doc=page", "-c", "tools/site", tmp_path, tmp_path / "site"]

    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == status
