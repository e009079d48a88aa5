"""The report in a real browser: what answers to a reader, and what is left without scripts and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def show(chrome: Any, model_with: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the report of a model; nothing may have been complained of at the end."""
    chrome.get_log("browser")

    def opened(kind: str) -> Any:
        model_with(kind).report(tmp_path / "report.html", target="the target")
        chrome.get((tmp_path / "report.html").as_uri())
        return chrome

    yield opened
    assert [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"] == []


def in_page(chrome: Any, script: str) -> Any:
    return chrome.execute_script(script)


def later(chrome: Any, script: str) -> Any:
    """After the page has drawn itself again."""
    return chrome.execute_async_script(
        f"const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done({script})));"
    )


def test_rows_can_be_chosen_and_set_side_by_side(show):
    chrome = show("a pole")
    texts = "return [...document.querySelectorAll('.details h3')].map((e) => e.textContent)"
    chosen = in_page(chrome, texts)
    assert len(chosen) == 1
    assert chosen[0].endswith("the chosen one")
    in_page(chrome, "document.querySelector('tr[data-row=\"0\"]').click()")
    assert in_page(chrome, texts) == ["Row 0"]
    # with the keyboard: down to the next row, choose it, and set the first one beside it
    row = chrome.find_element("css selector", "table.front tr.chosen")
    row.send_keys("\ue015")  # arrow down
    chrome.switch_to.active_element.send_keys("\ue007")  # enter
    assert in_page(chrome, texts) == ["Row 1"]
    chrome.switch_to.active_element.send_keys("\ue013")  # arrow up
    chrome.switch_to.active_element.send_keys("c")
    assert in_page(chrome, texts) == ["Row 1", "Row 0"]
    assert in_page(chrome, "return document.querySelectorAll('.panes.two .details').length") == 2


def test_points_are_hovered_and_axes_made_logarithmic(show):
    chrome = show("noise")
    figure = "[...document.querySelectorAll('figure.live')].find((e) => e.textContent.includes('Residuals'))"
    in_page(chrome, f"{figure}.querySelector('.drawing').focus()")
    chrome.switch_to.active_element.send_keys("\ue014")  # arrow right: the first point
    tip = in_page(chrome, f"return {figure}.querySelector('.tip').textContent")
    assert "residual" in tip
    assert "x1 =" in tip
    fit = "[...document.querySelectorAll('figure.live')].find((e) => e.textContent.includes('Measured and formula'))"
    dots = f"return {fit}.querySelector('svg .points').getAttribute('d')"
    before = in_page(chrome, dots)
    in_page(chrome, f"{fit}.querySelectorAll('input')[1].click()")
    assert in_page(chrome, dots) != before
    in_page(chrome, f"{fit}.querySelectorAll('input')[1].click()")
    assert in_page(chrome, dots) == before


def test_constants_are_changed_by_sliders_and_set_back(show):
    chrome = show("noise")
    curve = "document.querySelectorAll('figure.live svg .curve')[0].getAttribute('d')"
    before = in_page(chrome, f"return {curve}")
    slide = "const s = document.querySelector('.slide input'); s.value = {}; s.dispatchEvent(new Event('input'));"
    in_page(chrome, slide.format("s.max"))
    assert later(chrome, curve) != before
    assert "Constants changed: RMSE" in in_page(chrome, "return document.querySelector('.details').textContent")
    in_page(chrome, "[...document.querySelectorAll('button')].find((b) => b.textContent === 'As fitted').click()")
    assert later(chrome, curve) == before
    assert "Constants changed" not in in_page(chrome, "return document.querySelector('.details').textContent")


def test_constants_of_a_group_are_changed_for_it_alone(show):
    chrome = show("groups")
    labels = "return [...document.querySelectorAll('table.of-groups tbody th')].map((e) => e.textContent)"
    assert in_page(chrome, labels) == ["<b>B</b>", "A", "C"]
    courses = "[...document.querySelectorAll('figure.live svg .curve:not(.outside)')].map((e) => e.getAttribute('d'))"
    before = in_page(chrome, f"return {courses}")
    assert len(before) == 6  # of three groups along two inputs
    pick = "const s = document.querySelector('select.group'); s.value = 0; s.dispatchEvent(new Event('change'));"
    in_page(chrome, pick)
    names = "return [...document.querySelectorAll('.slide input')].map((e) => e.getAttribute('aria-label'))"
    assert in_page(chrome, names) == ["b", "k[<b>B</b>]"]
    slide = (
        "const s = document.querySelectorAll('.slide input')[1]; s.value = 1.9; s.dispatchEvent(new Event('input'));"
    )
    in_page(chrome, slide)
    after = later(chrome, courses)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, True] * 2
    in_page(chrome, "[...document.querySelectorAll('button')].find((b) => b.textContent === 'As fitted').click()")
    assert later(chrome, courses) == before


def test_formula_and_code_can_be_copied(show):
    chrome = show("a pole")
    in_page(chrome, "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }")
    for words in ("Copy formula", "Copy LaTeX", "Copy code"):
        in_page(chrome, f"[...document.querySelectorAll('button')].find((b) => b.textContent === '{words}').click()")
    formula, latex, code = in_page(chrome, "return window.copied")
    assert formula.startswith("the target = ")
    assert latex.startswith(r"\mathrm{the\ target} = ")
    assert "def the_target(x1):" in code


def test_long_formulas_are_broken_and_nothing_is_cut_off(show):
    chrome = show("twelve inputs")
    for width in (375, 768, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        cut = """return [...document.querySelectorAll('.formula span, figure, table')].filter((e) =>
          e.offsetParent && e.closest('.scroll') === null && e.scrollWidth > e.clientWidth + 1).length"""
        assert in_page(chrome, cut) == 0, width
        assert in_page(chrome, "return document.documentElement.scrollWidth") == width
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_scripts_the_page_is_whole(chrome, model_with, tmp_path):
    model_with("a pole").report(tmp_path / "still.html")
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chrome.get((tmp_path / "still.html").as_uri())
        shown = [e.text for e in chrome.find_elements("css selector", "h2") if e.is_displayed()]
        charts = [e for e in chrome.find_elements("css selector", "svg.chart") if e.is_displayed()]
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert shown[:4] == ["Where to be careful", "The front", "Fit and residuals", "Inside and outside the data"]
    assert len(charts) >= 4


def test_on_paper_there_are_no_buttons(show):
    chrome = show("a pole")
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = [e for e in chrome.find_elements("css selector", "button, input, select") if e.is_displayed()]
        charts = [e for e in chrome.find_elements("css selector", "svg.chart") if e.is_displayed()]
    finally:
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert seen == []
    assert len(charts) >= 4


def test_charts_are_drawn_for_the_paper_and_then_for_the_screen_again(show):
    """Pictures of the screen would be made smaller on paper, and their letters with them."""
    chrome = show("noise")
    widths = "[...document.querySelectorAll('.details .drawing > svg')].map((one) => one.viewBox.baseVal.width)"
    on_screen = in_page(chrome, f"return {widths}")
    in_page(chrome, "window.dispatchEvent(new Event('beforeprint'))")
    on_paper = in_page(chrome, f"return {widths}")
    assert max(on_paper) < min(on_screen)
    in_page(chrome, "window.dispatchEvent(new Event('afterprint'))")
    assert in_page(chrome, f"return {widths}") == on_screen


def test_a_script_that_was_smuggled_in_does_not_run(chrome, model_with, tmp_path):
    """Not that there is a way in: but were there one, the policy of the page would stop it."""
    model_with("a pole").report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "evil.html").write_text(page.replace("</h1>", "<script>window.hacked=1</script></h1>"), "utf-8")
    chrome.get((tmp_path / "evil.html").as_uri())
    assert in_page(chrome, "return window.hacked") is None
    assert in_page(chrome, "return document.querySelectorAll('.details').length") == 1
    chrome.get_log("browser")
