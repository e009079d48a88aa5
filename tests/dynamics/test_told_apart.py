"""Systems that the criterion hardly tells apart are told apart by what they foretell."""

from dataclasses import replace

import numpy as np
import pytest

from ceql.dynamics.choosing import contender
from ceql.dynamics.contests import contest_of
from ceql.dynamics.policy import DynamicsPolicy
from ceql.dynamics.results import held_out_r2, told_apart
from ceql.dynamics.smoothing import smoothed
from ceql.engine.deadline import NEVER, Deadline


@pytest.fixture(scope="module")
def decay(finding_of, system_of):
    """What is right and a decay of second order, fitted to one of first order."""
    truth = system_of({"x": "-0.8*x"})
    series = finding_of(truth, [[3.0]], np.linspace(0, 4, 60), noise=0.02).series
    contest = contest_of(series, [smoothed(one) for one in series.trajectories], DynamicsPolicy(), NEVER)
    right, other = contender(truth, contest), contender(system_of({"x": "-0.4*x**2"}), contest)
    assert right is not None
    assert other is not None
    return contest, right, other


def test_what_foretells_more_comes_first(decay):
    contest, right, other = decay
    found, score = told_apart([replace(other, criterion=-100.0), replace(right, criterion=-99.0)], contest)
    assert found[0].system is right.system
    assert score == held_out_r2(right.system, contest)
    assert len(found) == 2


@pytest.mark.parametrize(("behind", "until"), [(5.0, NEVER), (1.0, Deadline.after(-1.0))])
def test_the_criterion_stands_where_it_is_clear_or_time_is_over(decay, behind, until):
    contest, right, other = decay
    few = [replace(other, criterion=-100.0), replace(right, criterion=-100.0 + behind)]
    found, score = told_apart(few, replace(contest, until=until))
    assert found == few
    assert (score is None) == (until is not NEVER)
