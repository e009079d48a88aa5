"""A fitted model as one HTML page that needs nothing else: no network, no scripts, no plotting library.

``chart`` draws, ``caveats`` and ``reproduce`` find the words and ``page`` puts the parts together; it also makes the
small card for a notebook.
"""
