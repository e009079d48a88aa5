"""Data: the table of measurements, its targets and scaling, and the files that tables come from."""

from ceql.data.dataset import Dataset, Scaling

__all__ = ["Dataset", "Scaling"]
