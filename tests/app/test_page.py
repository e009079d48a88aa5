"""The page in a real browser: from a dropped table to a formula that is taken away."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from click.testing import CliRunner

from ceql import load
from ceql.__main__ import cli

EVIL = ("<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=1</script>", "'\"`&amp;{{7*7}}")


def test_a_dropped_table_becomes_a_formula_and_the_search_ends_by_itself(page, lens, downloads, tmp_path, monkeypatch):
    page.drop("lens.csv", lens)
    page.table("lens.csv")
    assert page.text("#start") == "Find a formula for image"
    assert len(page.all("table.columns svg.small-plot")) == 3
    page.start()
    page.result()
    assert page.status.startswith("An exact formula was found")
    assert page.text("tr.chosen code") == "distance*focal/(distance - focal)"
    assert page.all(".details .formula math mfrac")
    assert "pole" in page.text(".details .caveats")
    # what is taken away is the model, the page about it, and the command that finds it again
    for link in ("Model", "Report"):
        page.chrome.find_element("link text", link).click()
    model, report = downloads / "lens.ceql", downloads / "lens.html"
    page.wait(lambda: model.exists() and report.exists())
    assert str(load(model).sympy()) == "distance*focal/(distance - focal)"
    assert "A formula for image" in report.read_text(encoding="utf-8")
    page.click(".details figure button")
    page.wait(lambda: (downloads / "Measured-and-formula.svg").exists())
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lens.csv").write_text(lens, encoding="utf-8")
    done = CliRunner().invoke(cli, [*shlex.split(command)[1:], "--quiet"])
    assert done.output.strip() == "distance*focal/(distance - focal)"


def test_columns_are_left_out_and_the_search_told_what_to_use(page, lens):
    rows = lens.splitlines()
    page.drop(
        "odd.csv",
        "\n".join([f"{rows[0]},word,gappy", *(f"{row},w{k},{k if k % 7 else ''}" for k, row in enumerate(rows[1:]))]),
    )
    page.table("odd.csv")
    assert "holds text" in page.text("#columns")
    page.click("input[type=radio][value=image]")
    page.click("input[aria-label='use gappy']")
    page.click("details:has(> .operators) > summary")
    for name in ("mul", "div"):
        page.chrome.execute_script(
            "[...document.querySelectorAll('.operators label')].find((e) => e.textContent === arguments[0]).click()",
            name,
        )
    page.start()
    page.result()
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    assert "--features distance,focal" in command
    assert "--operators mul,div" in command


def test_the_front_grows_a_search_is_stopped_and_goes_on_and_a_page_loaded_anew_sees_it(page, noise):
    page.drop("noise.csv", noise)
    page.table("noise.csv")
    page.start()
    page.wait(lambda: page.all("#best math"))
    first = page.text("#search .glimpses")
    page.wait(lambda: page.text("#search .glimpses") != first)
    # reload in the middle
    page.chrome.refresh()
    page.wait(lambda: page.all("#best math") and "Searching" in page.status)
    # a second tab sees the same search
    mine = page.chrome.current_window_handle
    page.chrome.switch_to.new_window("tab")
    page.open()
    page.chrome.find_element("partial link text", "noise.csv, y").click()
    page.wait(lambda: "Searching" in page.status)
    page.click("#stop")
    page.result()
    assert "interrupted" in page.status
    page.chrome.close()
    page.chrome.switch_to.window(mine)
    page.result()  # the first tab was told, too
    assert len(page.all("table.front tr[data-row]")) >= 2
    (before,) = re.findall(r"([\d,]+) starts", page.status)
    page.click("#resume")
    page.wait(lambda: f"Searching, {before} starts" in page.status)  # it goes on from where it was
    page.wait(lambda: page.all("#stop:not([hidden])"))
    page.click("#stop")
    page.wait(lambda: "interrupted" in page.status)
    page.result()


def test_two_tabs_search_in_two_tables(page, lens, noise):
    page.drop("first.csv", noise)
    page.table("first.csv")
    page.start()
    page.wait(lambda: "Searching" in page.status)
    mine = page.chrome.current_window_handle
    page.chrome.switch_to.new_window("tab")
    page.open()
    page.drop("second.csv", lens)
    page.table("second.csv")
    page.start()
    page.result()
    assert "second.csv" in page.text("#search h2")
    page.chrome.close()
    page.chrome.switch_to.window(mine)
    assert "first.csv" in page.text("#search h2")
    page.click("#stop")
    page.result()


def test_a_file_that_cannot_be_read_as_it_is_can_be_told_how(page):
    page.drop("bare.txt", "\n".join(f"{k} {3 * k + 2}" for k in range(1, 30)))
    page.wait(lambda: 'or write x,y into "Names of the columns"' in page.text("#problem"))
    page.chrome.execute_script(
        "[...document.querySelectorAll('.layout label')].find((e) => e.textContent.startsWith('Names')).control.value"
        " = 'a, b'"
    )
    page.click(".layout button")
    page.wait(lambda: "target" in page.text("#columns"))
    assert page.text("#problem") == ""
    page.start()
    page.result()
    assert page.text("tr.chosen code") == "3*a + 2"
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    assert "--names a,b" in command
    assert all("status of 4" in entry for entry in page.complaints())  # the browser notes the refusal


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.csv", "a,b\n1,2\n3\n4,5,6,7\n", "broken.csv"),
        ("empty.csv", "", "The file is empty."),
        ("header.csv", "a,b\n", "no rows below it"),
        ("twice.csv", "a,a\n1,2\n", "several columns named 'a'"),
        ("page.html", "<p>no table</p>", "has the ending '.html'"),
        ("book.xlsx", "this is no workbook", "book.xlsx"),
    ],
)
def test_a_broken_file_gets_a_sentence_and_the_page_goes_on(page, lens, name, content, words):
    page.drop(name, content)
    page.wait(lambda: words in page.text("#problem"))
    assert "Traceback" not in page.text("body")
    assert "/tmp" not in page.text("#problem")
    page.drop("lens.csv", lens)
    page.table("lens.csv")
    assert page.text("#problem") == ""
    assert all("status of 4" in entry for entry in page.complaints())  # the browser notes the refusal


def test_what_cannot_be_searched_is_said(page):
    page.drop("words.csv", "a,b\nx,1\ny,2\n")
    page.table("words.csv")
    page.start()
    page.wait(lambda: "No column of numbers is left besides the target" in page.status)


def test_names_are_text_wherever_they_appear(page, downloads):
    names = [*EVIL, "<b>y</b>"]
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    rows = [
        f"{k + 1},{(k * 7) % 11 + 1},{(k * 3) % 5 + 2},{2 * (k + 1) * ((k * 7) % 11 + 1) + (k * 3) % 5 + 2}"
        for k in range(60)
    ]
    page.drop(f"{EVIL[0]}.csv", "\n".join([",".join(quoted), *rows]))
    page.wait(lambda: page.all("#start"))
    page.start()
    page.result()
    page.click("tr[data-row='1']")
    seen = page.text("body")
    assert all(name in seen for name in names)
    assert page.chrome.execute_script("return window.hacked") is None
    assert page.all("img, b, main script") == []
    page.chrome.find_element("link text", "Report").click()
    report = page.wait(lambda: list(downloads.glob("*onerror*.html")))[0]
    page.chrome.get(report.as_uri())
    page.wait(lambda: page.all("#ceql-live .details"))
    assert page.chrome.execute_script("return window.hacked") is None
    assert page.all("img, b") == []
    assert all(name in page.text("body") for name in names)


def test_no_request_leaves_the_machine(page, lens):
    page.drop("lens.csv", lens)
    page.table("lens.csv")
    page.start()
    page.result()
    events = [json.loads(entry["message"])["message"] for entry in page.chrome.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    local = (page.address, "data:", "blob:", "file:", "about:", "chrome:", "chrome-untrusted:", "devtools:")
    assert [url for url in asked if not url.startswith(local)] == []
    assert any(url.startswith(page.address) for url in asked)


def choose(page, selector: str, value: str) -> None:
    script = """const list = document.querySelector(arguments[0]);
    list.value = arguments[1];
    list.dispatchEvent(new Event("change"));"""
    page.chrome.execute_script(script, selector, value)


def test_groups_get_constants_of_their_own_and_a_curve_each(page, lenses, downloads):
    page.drop("lenses.csv", lenses)
    page.table("lenses.csv")
    assert not page.chrome.find_element("id", "per-group").is_displayed()
    choose(page, "#groups", "lens")
    assert page.chrome.find_element("id", "per-group").is_displayed()
    page.start()
    page.result()
    assert page.text("tr.chosen code") == "f[lens]*p/(-f[lens] + p)"
    values = page.chrome.execute_script(
        "return [...document.querySelectorAll('table.of-groups tbody tr')].map((e) => e.cells[1].innerText)"
    )
    assert [round(float(value), 1) for value in values] == [2.0, 3.0, 5.0]
    curves = "figure.live svg .curve:not(.outside)"
    assert len(page.all(curves)) == 3
    assert "(lens: A)" in page.text(".details .caveats")
    # the constants of one group are changed, and the others stay
    drawn = [one.get_attribute("d") for one in page.all(curves)]
    choose(page, "select.group", "1")
    page.set(".slide input", "3.01")
    page.wait(lambda: "Constants changed: RMSE" in page.text(".details"))
    now = [one.get_attribute("d") for one in page.all(curves)]
    assert [a == b for a, b in zip(drawn, now, strict=True)] == [True, False, True]
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    assert "--groups lens" in command
    assert "--per-group auto" in command
    # loaded anew, the choices are those of the search
    page.chrome.refresh()
    page.result()
    assert page.chrome.execute_script("return document.querySelector('#groups').value") == "lens"


@pytest.mark.parametrize("per_group", ["1", "none"])
def test_groups_of_a_number_or_only_held_out(page, lenses, per_group):
    page.drop("lenses.csv", lenses)
    page.table("lenses.csv")
    choose(page, "#groups", "lens")
    choose(page, "#per-group", per_group)
    page.set("input[max='86400']", "3")
    page.start()
    page.result()
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    assert "--groups lens" in command
    assert ("--per-group 1" in command) == (per_group == "1")


def test_formulas_fit_the_units_that_are_in_the_headers_or_typed(page):
    pytest.importorskip("pint", reason="pint is not installed: pip install 'ceql[units]'")
    rows = [f"{length},{3 + length % 7},{(1.6 * length) ** 0.5}" for length in range(1, 30)]
    page.drop("pendulum.csv", "\n".join(["length [m],mass,period [s]", *rows]))
    page.table("pendulum.csv")
    units = "return [...document.querySelectorAll('input.unit')].map((e) => e.value)"
    assert page.chrome.execute_script(units) == ["m", "", "s"]
    assert not page.chrome.execute_script("return document.querySelector('#units').checked")
    page.set("input.unit[aria-label='unit of mass']", "kg")
    assert page.chrome.execute_script("return document.querySelector('#units').checked")  # by typing one
    page.start()
    page.result()
    assert page.text("tr.chosen code").endswith("*sqrt(length [m])")
    assert "s/m**(1/2)" in page.text("table.constants")
    command = page.chrome.execute_script("return document.querySelector('#command').textContent")
    assert "--units 'length [m]=m,mass=kg,period [s]=s'" in command


@pytest.mark.parametrize(
    ("unit", "constants", "words"),
    [
        ("metre per", "any", "'metre per'"),
        ("s", "dimensionless", "cannot be made of"),
        ("lightyeer", "any", "light_year"),
    ],
)
def test_units_that_cannot_be_get_a_sentence(page, unit, constants, words):
    pytest.importorskip("pint", reason="pint is not installed: pip install 'ceql[units]'")
    page.drop("t.csv", "\n".join(["a [m],y [m]", *(f"{k},{k * k}" for k in range(1, 20))]))
    page.table("t.csv")
    page.set("input.unit[aria-label='unit of y [m]']", unit)
    page.set("#unit-constants", constants)
    page.start()
    page.wait(lambda: words in page.status)
    assert not re.search(r"\w_\w+=|units=|constants=|--", page.status)
