"""The scikit-learn estimator (`regressor.py`), and the same model without scikit-learn (`model.py`)."""
