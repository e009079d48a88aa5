"""A page on this machine: drop a table, watch the front grow, pick a formula.

``server`` answers the browser behind ``guard``, which lets nobody in but whoever has the address. ``tables`` says what
is in a file, ``wishes`` what a search is asked for, ``runs`` holds the searches, each in a process of its own that
``worker`` is. What the page draws are the components of ``ceql.output.web``.
"""
