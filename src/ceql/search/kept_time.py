"""The parts of the time limit that a search leaves to the steps after it, by the price list of each."""

from __future__ import annotations

from ceql.catalogue.offers import seconds_for_offers
from ceql.data.dataset import Dataset
from ceql.search.finishing import seconds_for_simpler
from ceql.search.judgement import seconds_for_judging
from ceql.search.long_sums import seconds_for_long_sum
from ceql.search.losses import SQUARED
from ceql.search.settings import Settings


def seconds_kept(data: Dataset, settings: Settings) -> float:
    """For all that follows the search."""
    policy = settings.search
    kept = for_offers(data, settings) + for_long_sums(data, settings)
    kept += policy.sifting.seconds_for(len(data.y), settings.time_limit)
    if settings.loss == SQUARED:
        return kept + for_simpler_numbers(data, settings)
    return kept + seconds_for_judging(data, settings.time_limit, policy.judgement)


def is_wide(data: Dataset, settings: Settings) -> bool:
    """Whether a table has many columns. Many terms can then be made, and some of them suit the rows by chance, so
    held-out rows take part in the choice."""
    return data.x.shape[1] > settings.search.catalogue.most_table_columns


def for_offers(data: Dataset, settings: Settings) -> float:
    """Seconds for the catalogue; zero if it is not used, or if the time limit is too short for both."""
    policy = settings.search.catalogue
    rows, columns = data.x.shape
    seconds = seconds_for_offers(rows, columns, policy)
    is_large = columns > policy.most_table_columns or rows * (columns - 1) > policy.most_cells
    if is_large or settings.template is not None or seconds > policy.most_of_limit * settings.time_limit:
        return 0.0
    return seconds


def for_long_sums(data: Dataset, settings: Settings) -> float:
    """Seconds for long sums; zero if they are not used."""
    if not is_wide(data, settings) or settings.template is not None or settings.constraints.known:
        return 0.0
    return seconds_for_long_sum(data, settings.time_limit, settings.search.closed_forms.long_sums)


def for_simpler_numbers(data: Dataset, settings: Settings) -> float:
    if settings.template is not None:
        return 0.0
    return seconds_for_simpler(settings.time_limit, len(data.y), settings.search.finishing, data.x.shape[1])
