"""The interface for scikit-learn."""

from ceql.estimator.regressor import CEQLRegressor, load

__all__ = ["CEQLRegressor", "load"]
