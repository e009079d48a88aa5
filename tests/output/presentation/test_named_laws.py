"""Laws and struck formulas on a page and in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace

from ceql.output.report.page import report_page


def page_of(model, row=None):
    """What is on the page without scripts."""
    page = report_page(model._subject(row, "rate", "data.csv"))
    still, data, after = page.partition('<script type="application/json" id="ceql-view">')
    assert data
    assert "<" not in after.partition("</script>")[0]
    return still


def test_the_law_its_formula_and_its_constants_are_on_the_page(law_model):
    page = page_of(law_model())
    assert "<strong>Michaelis-Menten</strong>: <code>V*dose/(K + dose)</code>" in page
    assert "<td>V</td><td>2</td><td>0.02</td><td>largest rate</td>" in page
    assert "<td>K</td><td>1.5</td><td>not determined by the data</td><td>dose of half the largest rate</td>" in page
    assert "Michaelis-Menten, from kinetics. The same formula is known as Langmuir isotherm, Monod growth" in page
    assert "<small>straight line</small>" in page
    assert "<td>0.05</td>" in page  # the weight of a row beside the front


def test_a_row_without_a_law_has_its_constants_as_before(law_model):
    page = page_of(law_model(), row=3)
    assert "<strong>" not in page
    assert "largest rate" not in page
    assert "standard error" in page


def test_struck_formulas_are_folded_away_with_their_sentences(law_model):
    model = law_model()
    folded = re.search(
        r"<details>\n<summary>2 formulas were struck</summary>(.*?)</details>", page_of(model), re.DOTALL
    )
    assert folded is not None
    for one in model.discovery_.struck:
        assert f"<code>{one.formula}</code>" in folded[1]
    assert "that no row shows" in folded[1]
    assert "has &lt;no&gt; value" in folded[1]
    model._take([replace(model.discovery_, struck=())], model._targets, from_frame=True)
    assert "<details>" not in page_of(model)


def test_names_from_a_file_are_escaped(law_model):
    model = law_model()
    found = model.discovery_
    constants = tuple(replace(c, name="<b>", meaning="<i>") for c in found.best.law.constants)
    odd = replace(found.best.law, name="<script>", field="<u>", text="<s>", constants=constants, others=("<img>",))
    best = replace(found.best, law=odd)
    model._take([replace(found, front=(found.front[0], best))], model._targets, from_frame=True)
    for text in (page_of(model), model._repr_html_()):
        assert not re.search(r"<(b|i|script|u|s|img)>", text)
        assert "&lt;script&gt;" in text


def test_a_notebook_names_the_law(law_model):
    card = law_model()._repr_html_()
    assert "<strong>Michaelis-Menten</strong>" in card
    assert "<small>straight line</small>" in card
