"""A fitted model as one HTML page that needs nothing else: no network, no scripts, no plotting library.

``axes`` and ``chart`` draw, ``charts`` knows what to draw, ``caveats`` and ``reproduce`` find the words, ``sections``
makes the parts and ``page`` puts them together. ``card`` is the small version for a notebook.
"""
