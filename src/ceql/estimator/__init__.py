"""The interface for scikit-learn: `regressor.py`; all of it that does without is in `model.py`."""
