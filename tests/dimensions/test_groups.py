"""Groups without dimension."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ceql.dimensions import Dimension, Dimensions, Quantity, groupings
from ceql.dimensions.elimination import rank
from ceql.dimensions.groups import reaches

_POWERS = st.tuples(*(st.integers(-2, 2) for _ in range(3)))


def _dimension(powers) -> Dimension:
    return Dimension.of(dict(zip(("length", "time", "mass"), powers, strict=True)))


@given(st.lists(_POWERS, min_size=2, max_size=5), _POWERS)
def test_groups_have_no_dimension_and_the_scale_has_that_of_y(columns, target):
    quantities = tuple(Quantity(f"x{k}", _dimension(powers)) for k, powers in enumerate(columns))
    given_ = Dimensions(quantities, Quantity("y", _dimension(target)), (), False)
    none = [False] * len(columns)
    found = groupings(given_, none, none)
    vectors = [[Fraction(p) for p in powers] for powers in columns]
    for groups in found:
        assert len(groups.groups) == len(columns) - rank(vectors)
        for powers, dimension in ((groups.scale, _dimension(target)), *((g, Dimension()) for g in groups.groups)):
            total = Dimension()
            for one, power in zip(quantities, powers, strict=True):
                total = total * (one.dimension or Dimension()) ** power
            assert total == dimension
    if not reaches(given_, ()):
        assert found == []


def test_nothing_is_divided_by_a_column_with_zeros():
    length = Dimension.of({"length": 1})
    given_ = Dimensions((Quantity("a", length), Quantity("b", length)), Quantity("y", length), (), False)
    found = groupings(given_, [False, False], [True, False])
    assert found
    assert all(groups.scale[0] == 0 and all(g[0] >= 0 for g in groups.groups) for groups in found)


def test_no_root_is_taken_of_a_column_with_both_signs():
    area, length = Dimension.of({"length": 2}), Dimension.of({"length": 1})
    given_ = Dimensions((Quantity("a", area), Quantity("b", area)), Quantity("y", length), (), False)
    assert groupings(given_, [True, True], [False, False]) == []
    assert groupings(given_, [False, False], [False, False])


def test_constants_take_part_only_where_they_are_needed():
    time, length = Dimension.of({"time": 1}), Dimension.of({"length": 1})
    gravity = Quantity("g", Dimension.of({"length": 1, "time": -2}), value=9.81)
    mass = Quantity("m_e", Dimension.of({"mass": 1}), value=9.1e-31)
    columns = Quantity("L", length), Quantity("angle", Dimension())
    (groups,) = groupings(Dimensions(columns, Quantity("T", time), (gravity, mass), False), [False] * 2, [False] * 2)
    assert [constant.name for constant in groups.constants] == ["g"]
    assert groups.scale == (Fraction(1, 2), 0, Fraction(-1, 2))
    assert groups.groups == ((0, 1, 0),)
