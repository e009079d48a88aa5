"""Benchmarks: problems as data, methods behind small adapters, one record per run, tables from the records.

`problems` loads suites and draws data, `methods` says what a method is and `baselines` holds one adapter per
system, `runner` runs methods on problems and keeps a record of each run, judged by `judge`; `record_tables` and
`suite_tables` are made from `records`, `results_page` puts them together, and `cli` holds the commands.
"""
