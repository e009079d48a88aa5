"""The scikit-learn face of ceql."""

from ceql.estimator.regressor import CEQLRegressor, load

__all__ = ["CEQLRegressor", "load"]
