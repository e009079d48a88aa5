"""Experimental modal analysis: common poles of several points, their shapes, and how they depend on conditions."""
