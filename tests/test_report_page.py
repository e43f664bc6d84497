"""The HTML page: what it says as text, and what it does in a real browser."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_report import DIAGNOSIS, a_report, right, wrong
from test_reports import HOSTILE, everything

from conformance.calls.outcomes import Advisory, Errored, Report, Result
from conformance.reports import curve, page

VOID = {"meta", "input", "wbr", "circle", "line", "polyline", "br"}


class Tags(HTMLParser):
    """Collect tags, attributes and text, and see that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.every: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.every.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.every.append((tag, dict(attrs)))


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


def test_the_page_loads_nothing_from_anywhere() -> None:
    tags = parsed(page.text([everything()])).every

    assert not [tag for tag, attributes in tags if tag in {"link", "img", "iframe", "object"} or "src" in attributes]
    (policy,) = [a["content"] or "" for tag, a in tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_the_page_runs_its_own_script_alone() -> None:
    text = page.text([everything()])
    (policy,) = [a["content"] or "" for _, a in parsed(text).every if a.get("http-equiv") == "Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert re.findall(r"script-src ([^;]*)", policy) == [f"'sha256-{digest}'"]


@pytest.mark.parametrize("words", ["target", "refused"])
def test_a_refusal_is_text_and_never_markup(words: str) -> None:
    said = {"target": "mine.py", "refused": "no", words: f"</title>{HOSTILE}"}
    text = page.text([Report(said["target"], {}, (), refused=said["refused"])])

    assert sum(tag == "script" for tag, _ in parsed(text).every) == 1
    assert text.count("<script>") == 1


def test_words_of_an_implementation_are_text_and_never_markup() -> None:
    hostile = replace(wrong(HOSTILE, reproduction=HOSTILE, exposes=HOSTILE), outcome=Errored(HOSTILE), implementation=HOSTILE)
    diagnosis = replace(DIAGNOSIS, threads=("javascript:alert(1)", "https://example.org/'\"><script>"))
    text = page.text([Report(HOSTILE, {HOSTILE: HOSTILE}, (hostile,), {f"{HOSTILE}:rope.rotate:float32": diagnosis})])

    tags = parsed(text).every
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert all((attributes.get("href") or "https://").startswith("https://") for _, attributes in tags)
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_a_note_is_its_words_alone() -> None:
    result = Result("mine", "rope.rotate", "aliasing", "advisory", "float32", "float32", Advisory("shares memory with x"))
    assert "Advisory(" not in (text := page.text([Report("mine.py", {}, (result,))]))
    assert "shares memory with x" in text


def test_every_control_has_a_name_and_every_drawing_words() -> None:
    text = page.text([everything()])
    tags = parsed(text).every

    assert all(a.get("aria-label") for tag, a in tags if tag in {"svg", "form"})
    assert len(re.findall(r"<label>[^<]+<(?:select|input)", text)) == sum(tag in {"select", "input"} for tag, _ in tags) == 3
    identities = [a["id"] for _, a in tags if "id" in a]
    assert len(identities) == len(set(identities))


def test_what_passed_is_closed_by_its_operation_and_nothing_else_is() -> None:
    text = page.text([everything()])
    closed = "".join(re.findall(r"<details class=passed>(.*?)</table>", text, re.DOTALL))

    assert re.findall(r"<summary>.*?</span> (.*?)</summary>", closed) == ["rope.rotate: 1 passed"]
    assert set(re.findall(r'data-outcome="([^"]+)"', closed)) == {"passed"}
    assert set(re.findall(r'data-outcome="([^"]+)"', text.replace(closed, ""))) == set(page.MARKS) - {"passed"}


def test_the_legends_have_every_mark_of_an_outcome_and_of_a_curve() -> None:
    legends = dict(re.findall(r'aria-label="legend of (.*?)">(.*?)</dl>', page.text([everything()]), re.DOTALL))
    drawn = curve.svg(((0, 0.5), (9, 20.0)), "mine")

    told = re.findall(r'class="mark"[^>]*>(.)</span></dt><dd>([^:]+)', legends["outcomes"])
    assert {kind: mark for mark, kind in told} == page.MARKS
    assert set(re.findall(r'<(?:circle|line) class="(\w+)"', drawn)) == set(re.findall(r' class="(\w+)"', legends["the curves"]))


def test_a_mistake_has_its_page_and_heading_beside_it_where_the_documents_tell_it() -> None:
    known = replace(DIAGNOSIS, mutants=("rope.rotate/turned-twice", "rope.rotate/of-another-name"))
    text = page.text([a_report(wrong(), diagnoses={"mine:rope.rotate:float32": known})])
    where = "<code>rope.rotate/turned-twice</code> <span class=told>(see <code>docs/mistakes/rope.md#turned-twice</code>)</span>"

    assert f"<dd>{where} + <code>rope.rotate/of-another-name</code></dd>" in text


def test_two_targets_have_a_page_together() -> None:
    tags = parsed(page.text([a_report(right()), a_report(wrong())])).every

    assert sum(tag == "section" for tag, _ in tags) == 2


def test_a_curve_puts_the_allowed_between_right_and_wrong() -> None:
    drawn = curve.svg(((0, 0.5), (9, 20.0), (131_071, float("inf"))), "mine")

    heights = [float(y) for y in re.findall(r'cy="([0-9.]+)"', drawn)]
    allowed = float(re.findall(r'class="allowed"[^>]* y1="([0-9.]+)"', drawn)[0])
    assert heights[0] > allowed > heights[1] > heights[2]
    assert re.findall(r'circle class="(\w+)"', drawn) == ["right", "wrong", "wrong"]
    assert "worst inf at position 131,071" in drawn


def test_one_position_makes_no_curve() -> None:
    assert curve.svg(((0, 0.5),), "mine") == ""


def shown(browser: Any) -> list[str]:
    rows = browser.find_elements("css selector", "table.checks tbody tr")
    return [row.get_attribute("data-outcome") for row in rows if row.is_displayed()]


def test_a_person_with_a_keyboard_filters_and_opens_in_a_browser(browser: Any, tmp_path: Path) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys", reason="selenium is not installed").Keys
    path = tmp_path / "report.html"
    path.write_text(page.text([everything()]), encoding="utf-8", errors="backslashreplace")
    browser.get(path.as_uri())
    every = browser.find_elements("css selector", "table.checks tbody tr")
    assert browser.find_element("tag name", "output").text == f"{len(every)} of {len(every)} checks"

    browser.execute_script("document.querySelector('select[name=outcome]').focus()")
    browser.switch_to.active_element.send_keys("w")
    assert set(shown(browser)) == {"waived"}
    browser.switch_to.active_element.send_keys("a")

    browser.execute_script("document.querySelector('form').reset(); document.querySelector('input[type=search]').focus()")
    browser.switch_to.active_element.send_keys("rope.rotate/inf")
    assert shown(browser) == ["failed"]

    browser.execute_script("document.querySelector('summary').focus()")
    browser.switch_to.active_element.send_keys(keys.ENTER)
    assert browser.find_element("tag name", "pre").is_displayed()
    assert browser.find_element("tag name", "pre").text == "print(1)"
    assert browser.get_log("browser") == []


def opened(browser: Any) -> int:
    return len(browser.find_elements("css selector", "details.passed[open]"))


def test_what_passed_is_closed_until_a_filter_finds_it_or_it_is_printed(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page.text([a_report(right("rope.rotate/near"), right("rope.rotate/far"), wrong())]), encoding="utf-8")
    browser.get(path.as_uri())
    assert shown(browser) == ["failed"]

    browser.find_element("name", "words").send_keys("rope.rotate/near")
    assert shown(browser) == ["passed"]
    browser.find_element("name", "words").clear()
    browser.find_element("name", "outcome").send_keys("failed")
    assert shown(browser) == ["failed"]
    assert not browser.find_element("css selector", "details.passed").is_displayed()

    browser.execute_script("const form = document.querySelector('form'); form.reset(); form.dispatchEvent(new Event('input'))")
    assert opened(browser) == 0
    browser.execute_script("addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('[open]').length })")
    browser.execute_cdp_cmd("Page.printToPDF", {})
    assert browser.execute_script("return printed") == 1
    assert opened(browser) == 0


def test_the_page_follows_light_and_dark(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page.text([everything()]), encoding="utf-8", errors="backslashreplace")
    browser.get(path.as_uri())

    backs = []
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        backs.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    light, dark = (sum(map(int, re.findall(r"\d+", back)[:3])) for back in backs)
    assert light > 600
    assert dark < 200


def test_the_page_fits_a_narrow_screen(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page.text([everything()]), encoding="utf-8", errors="backslashreplace")
    browser.set_window_size(500, 900)
    browser.get(path.as_uri())

    assert browser.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.execute_script("return [...document.querySelectorAll('.wide')].every(each => each.scrollWidth <= each.clientWidth)")


def test_filters_hide_rows_on_a_narrow_screen_too(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page.text([everything()]), encoding="utf-8", errors="backslashreplace")
    browser.set_window_size(500, 900)
    browser.get(path.as_uri())

    browser.find_element("name", "words").send_keys("rope.rotate/inf")

    assert shown(browser) == ["failed"]
