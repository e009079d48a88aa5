"""Interactive pages: the numbers of a fitted model as plain data, and the files that draw them.

The report and the local page show the same components: ``assets`` holds scripts and style sheets, written by hand
without a build step, and ``view`` makes their data. A formula is passed as a list of instructions, so that no text is
ever executed.
"""
