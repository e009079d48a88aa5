"""Benchmarks: problems as data, methods behind small adapters, one record per run, and tables made from the records.

`problems` loads suites and draws data, `methods` defines what a method is, and `baselines` has one adapter per system.
`runner` runs methods on problems and records each run, judged by `judge`; `record_tables` and `suite_tables` are made
from `records`, `results_page` combines them, and `cli` has the commands.
"""
