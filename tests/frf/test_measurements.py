"""Splits, means, levels left out, bands and kinds."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.errors import InputError
from ceql.frf.kinds import Kind
from ceql.frf.measurements import Measurements, parse_band
from ceql.frf.splits import parse_split


def make(repetitions=4, levels=(0.0, 1.0), complex_values=False):
    frequency = np.array([1.0, 2.0, 3.0, 4.0])
    rows = [(level, k) for level in levels for k in range(1, repetitions + 1)]
    curves = np.array([[10 * level + k] * 4 for level, k in rows]) * (1j if complex_values else 1.0)
    conditions = np.array([[level] for level, _ in rows])
    return Measurements(frequency, curves, conditions, ("d",), np.array([k for _, k in rows]), Kind.RECEPTANCE, "m/N")


def test_first_trains_on_the_first_and_every_holds_out_each_nth():
    train, test = make(5).split(parse_split("first:3"))
    assert sorted(set(train.repetitions)) == [1, 2, 3]
    assert sorted(set(test.repetitions)) == [4, 5]
    train, test = make(5).split(parse_split("every:2"))
    assert sorted(set(test.repetitions)) == [2, 4]


@pytest.mark.parametrize("text", ["", "first", "first:0", "every:1", "last:3", "every:x", "first:-2"])
def test_other_splits_are_refused_with_an_example(text):
    with pytest.raises(InputError, match="first:56"):
        parse_split(text)


def test_a_split_that_leaves_nothing_says_for_which_level():
    with pytest.raises(InputError, match="nothing to hold out for d = 0, whose repetitions are numbered 1 to 4"):
        make().split(parse_split("first:9"))
    with pytest.raises(InputError, match="nothing to hold out"):
        make(1).split(parse_split("every:5"))


def test_means_are_per_condition():
    means = make().mean()
    np.testing.assert_allclose(means.curves[:, 0], [2.5, 12.5])
    assert means.levels.tolist() == [[0.0], [1.0]]


def test_a_mean_of_magnitudes_is_not_the_magnitude_of_a_mean():
    data = make(2, complex_values=True)
    turned = Measurements(data.frequency, data.curves * np.array([[1], [-1]] * 2), data.conditions, ("d",),
                          data.repetitions, data.kind, "")  # fmt: skip
    assert np.abs(turned.mean().curves)[0, 0] == pytest.approx(0.5)
    assert turned.magnitudes().mean().curves[0, 0] == pytest.approx(1.5)


def test_leaving_out_a_level():
    kept, left = make().leave_out(1.0)
    assert kept.levels.tolist() == [[0.0]]
    assert left.levels.tolist() == [[1.0]]
    with pytest.raises(InputError, match="Known levels: 0, 1"):
        make().leave_out(0.5)
    with pytest.raises(InputError, match="only level"):
        make(levels=(0.0,)).leave_out(0.0)


def test_a_band_keeps_its_ends_and_refuses_to_be_empty():
    assert make().band(2, 4).frequency.tolist() == [2, 3, 4]
    with pytest.raises(InputError, match="reach from 1 to 4 Hz"):
        make().band(10, 20)


@pytest.mark.parametrize("text", ["50", "50-2000", "2000:50", "a:b", "-1:5"])
def test_other_bands_are_refused(text):
    with pytest.raises(InputError, match="is not a band"):
        parse_band(text)


def test_kinds_convert_there_and_back():
    data = make(complex_values=True)
    there = data.as_kind(Kind.ACCELERANCE)
    assert there.unit == "m/s²/N"
    np.testing.assert_allclose(there.as_kind(Kind.RECEPTANCE).curves, data.curves)
    np.testing.assert_allclose(there.magnitudes().curves, data.magnitudes().as_kind(Kind.ACCELERANCE).curves)
    with pytest.raises(InputError, match="only mechanical kinds"):
        data.as_kind(Kind.RATIO)


def test_values_that_are_missing_are_refused():
    data = make()
    curves = data.curves.copy()
    curves[0, 0] = np.nan
    with pytest.raises(InputError, match="missing or not finite"):
        Measurements(data.frequency, curves, data.conditions, ("d",), data.repetitions, data.kind, "")
