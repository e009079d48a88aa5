"""The local page of `ceql app`: drop a table, watch the front grow, pick a formula.

``server`` answers the browser behind ``guard``, which admits only requests that know the address. ``tables`` describes
the contents of a file, ``wishes`` checks what a search is asked for, and ``runs`` holds the searches, each in a process
of its own, which runs ``worker``. The page draws the components of ``ceql.output.web``.
"""
