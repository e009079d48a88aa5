"""The page in a real browser, at the width of a phone and of a desk."""

from __future__ import annotations

import pytest

from ceql.output.report.page import report_page


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("kind", ["odd names", "twelve inputs"])
def test_nothing_is_wider_than_the_page(browser, model_with, kind, width):
    inner, content, _, outside = browser.measured(report_page(model_with(kind)._subject(None, "y", "data.csv")), width)
    assert inner == width
    assert content == width
    assert outside == ""


def test_the_measurement_sees_what_sticks_out(browser):
    page = "<!DOCTYPE html><body><div class='bad' style='width:900px'>wide</div></body>"
    inner, content, _, outside = browser.measured(page, 375)
    assert (inner, outside) == (375, "DIV.bad")
    assert content > 375
