"""The public benchmarks as a user meets them: noise by option, families, tables beside reported rates."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from ceql.bench.cli import bench, bench_report
from ceql.bench.errors import BenchError, SuiteError
from ceql.bench.problems import load_suite, sample, select, with_noise
from ceql.bench.published import published_rates
from ceql.bench.records import Record, read_records
from ceql.bench.results_page import commands, has_sheets, results_page, sheets
from ceql.bench.selections import parse_levels


def test_the_suites_have_their_problems():
    def families(name):
        return Counter(p.family for p in load_suite(name).problems)

    assert families("srsd") == {"easy": 30, "medium": 40, "hard": 50}
    assert families("srbench") == {"feynman": 116, "feynman-unused": 4, "strogatz": 14}
    assert families("strogatz") == {"strogatz": 14}
    assert families("empirical").total() == 9
    assert families("classic") == {
        "koza": 3, "nguyen": 12, "nguyen-constant": 8, "rational": 3, "livermore": 22, "keijzer": 15, "korns": 15,
        "vladislavleva": 8, "jin": 6, "pagie": 1,
    }  # fmt: skip


def test_families_are_chosen_by_name_and_offered_when_misspelt():
    suite = load_suite("srsd")
    assert len(select(suite, ("easy", "I.6.20"))) == 31
    with pytest.raises(SuiteError, match=r"of suite 'srsd', 'haard'\. Did you mean 'hard'"):
        select(suite, ("haard",))


def test_noise_is_a_share_of_the_root_mean_square_on_the_same_points():
    suite = load_suite("strogatz")
    one = select(suite, ("strogatz_bacres1",))
    clean, noisy = with_noise(suite.__class__("s", "t", one), (0.0, 0.1)).problems
    assert (clean.name, noisy.name) == ("strogatz_bacres1", "strogatz_bacres1[noise=0.1]")
    before, after = sample(clean, 0), sample(noisy, 0)
    assert np.array_equal(before.X_train, after.X_train)
    assert np.array_equal(before.y_interp, after.y_interp)
    added = after.y_train - before.y_train
    assert added.std() == pytest.approx(0.1 * np.sqrt(np.mean(before.y_train**2)), rel=0.15)


def test_a_suite_with_noise_of_its_own_takes_no_other():
    with pytest.raises(SuiteError, match="sets its noise itself"):
        with_noise(load_suite("noise"), (0.1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1,loud", "'loud' is not a fraction"),
        ("-1", "'-1' is not a fraction"),
        (",", "No levels of noise"),
        ("nan", "'nan'"),
    ],
)
def test_levels_that_cannot_be_read(text, message):
    with pytest.raises(BenchError, match=message):
        parse_levels(text)
    assert parse_levels("0, 0.01,0.01") == (0.0, 0.01)


def test_a_noisy_run_is_recorded_resumed_and_shown(tmp_path):
    out = tmp_path / "r.jsonl"
    arguments = ["classic", "--problems", "Nguyen-1", "--seeds", "0", "--methods", "aaa", "--json", str(out)]
    first = CliRunner().invoke(bench, [*arguments, "--noise", "0"])
    assert first.exit_code == 0, first.output
    second = CliRunner().invoke(bench, [*arguments, "--noise", "0,0.01", "--resume"])
    assert second.exit_code == 0, second.output
    records = read_records(out)
    assert [(r.problem, r.noise) for r in records] == [("Nguyen-1", 0.0), ("Nguyen-1[noise=0.01]", 0.01)]
    assert (records[0].r2 or 0.0) > 0.999
    assert records[0].rows == 20
    assert "| aaa | 0.01 | all | 1 |" in second.stdout
    bad = CliRunner().invoke(bench, [*arguments, "--noise", "much"])
    assert bad.exit_code == 1
    assert "'much' is not a fraction" in str(bad.exception)
    page = tmp_path / "page.md"
    assert CliRunner().invoke(bench_report, [str(out), "--out", str(page), "--title", "Public"]).exit_code == 0
    assert page.read_text().startswith("# Public\n")
    assert "`ceql bench classic --problems Nguyen-1 --noise 0,0.01 --methods aaa --seeds 0 " in page.read_text()


def run(problem, **changes):
    values = {"family": "easy", "settings": {"time_limit": 60.0}, "r2": 1.0, "node_count": 5, "seconds": 2.0}
    return Record("srsd", problem, method="ceql", seed=0, **(values | changes))


def test_rates_stand_by_family_and_noise_beside_the_reported():
    suite = load_suite("srsd")
    records = [
        run("I.12.1", exact=True, symbolic_solution=True),
        run("I.12.4", symbolic_solution=True, r2=0.9),
        run("I.6.20", family="hard", r2=None, node_count=None, seconds=None, error="none found"),
        run("I.12.1[noise=0.01]", noise=0.01, symbolic_solution=True),
    ]
    assert has_sheets(suite)
    (sheet,) = sheets(suite, records)
    rows = [[cell.text for cell in row] for row in sheet.rows]
    assert rows[0] == ["ceql", "0", "all", "3", "66.7 %", "33.3 %", "33.3 %", "5", "2.0", "60 s"]
    assert [row[1:4] for row in rows[1:4]] == [["0", "easy", "2"], ["0", "hard", "1"], ["0.01", "all", "1"]]
    assert rows[2][-3:] == ["–", "–", "60 s"]
    assert sheet.note.startswith("**Only 3 of the 120 problems of this suite ran:**")
    assert rows[4][0] == "TiSR (reported)"
    assert rows[4][4] == "69.4 %"
    assert "TiSR (reported)" in results_page(records)


def test_noise_of_the_suite_is_not_told_apart():
    laws = [Record("empirical", name, "physics", "ceql", 0, noise=noise) for name, noise in (("a", 0.1), ("b", 100.0))]
    (sheet,) = sheets(load_suite("empirical"), laws)
    assert [cell.text for cell in sheet.rows[0][:4]] == ["ceql", "of the suite", "all", "2"]


def test_commands_name_the_noise_that_was_added():
    own = {"I.12.1", "I.12.4"}
    clean, noisy = run("I.12.1"), run("I.12.1[noise=0.01]", noise=0.01)
    assert commands([clean, noisy], own) == [
        "ceql bench srsd --problems I.12.1 --noise 0,0.01 --methods ceql --seeds 0 --time-limit 60"
    ]
    assert commands([noisy], {noisy.problem}) == ["ceql bench srsd --methods ceql --seeds 0 --time-limit 60"]


def test_reported_rates_are_shares_with_a_source_and_a_known_part():
    for name in ("classic", "empirical", "srbench", "srsd", "strogatz"):
        rates = published_rates(name)
        assert rates is not None
        parts = {"all", *(p.family for p in load_suite(name).problems)}
        assert all(0 <= r.rate <= 1 and r.source and r.budget and r.part in parts for r in rates)
    assert published_rates("paper") is None
    assert published_rates("poles") is None
    found = {(r.label, r.noise): r.rate for r in published_rates("srbench") or ()}
    assert (found["PySR", 0.0], found["PySR", 0.01]) == (0.639, 0.53)
