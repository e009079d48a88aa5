"""What a page with scripts is made of: the numbers of a fitted model as plain data, and the files that draw them.

The report and the local page show the same components: ``assets`` holds scripts and a style sheet, written by hand and
without a build step, and ``view`` what they are given. A formula travels as a list of instructions, so that no text is
ever run.
"""
