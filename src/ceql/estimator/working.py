"""Imports everything that the methods of a model need and that its class does not import itself."""

import ceql.choice.chi_square
import ceql.estimator.around_a_fit
import ceql.estimator.complex_targets
import ceql.estimator.forecasts
import ceql.estimator.grouping
import ceql.estimator.measured
import ceql.estimator.plain_settings
import ceql.estimator.results
import ceql.estimator.settings_of_model
import ceql.estimator.several_targets
import ceql.estimator.unit_texts
import ceql.groups.adapting
import ceql.groups.grouped_formula
import ceql.output.export
import ceql.output.progress
import ceql.storage.destinations
import ceql.storage.model_file  # noqa: F401
