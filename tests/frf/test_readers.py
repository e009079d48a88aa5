"""Every format is read back as it was written, and every kind of bad input is answered with a remedy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import io

from ceql.errors import InputError, MissingExtraError
from ceql.frf.curve import ReadOptions, Scale
from ceql.frf.joining import Grid, gaps
from ceql.frf.kinds import Kind
from ceql.frf.labels import parse_words
from ceql.frf.readers import Source, read

F = np.linspace(10.0, 100.0, 91)
H = 5.0 / (1 - (F / 50) ** 2 + 0.02j * F / 50)


def write(path, columns, header, separator=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (separator.join(f"{v:.12g}" for v in row) for row in np.column_stack(columns))
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def linear(path, curve=H, frequency=F, header="Frequency (Hz),Magnitude (m/N)"):
    return write(path, (frequency, np.abs(curve)), header)


def test_the_layout_of_the_published_beam(folder, measured):
    reading = read([folder])
    found = reading.measurements
    assert found.levels[:, 0].tolist() == [0, 20, 40, 60]
    assert found.names == ("d",)
    assert sorted(set(found.repetitions)) == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(found.curves, measured.curves / 300, rtol=1e-5)
    assert found.kind == Kind.ACCELERANCE
    assert any("assumed" in note for note in reading.notes)
    assert any("dB" in note for note in reading.notes)


def test_a_row_with_two_tabs_is_read_all_the_same(folder):
    path = folder / "Beam_healthy" / "P-2.txt"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[7] = lines[7].replace("\t", "\t\t", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read([folder]).measurements.curves.shape[0] == 20


def test_real_and_imaginary_columns_and_other_units(tmp_path):
    write(tmp_path / "a_1.5.csv", (F / 1e3, H.real, H.imag), "f (kHz);real [m/N];imag [m/N]", ";")
    write(tmp_path / "a_2.5.csv", (F, np.abs(H), np.angle(H)), "freq_hz,mag,phase_rad")
    found = read([tmp_path]).measurements
    assert found.levels[:, 0].tolist() == [1.5, 2.5]
    np.testing.assert_allclose(found.curves, [H, H])


def test_a_long_table_carries_its_conditions(tmp_path):
    columns = np.concatenate(
        [np.column_stack([F, np.abs(H) * (d + k), 0 * F + d, 0 * F + k]) for d in (1, 2) for k in (1, 2)]
    )
    path = write(tmp_path / "long.csv", columns.T, "frequency,magnitude,mass loss (%),repetition")
    found = read([path]).measurements
    assert found.names == ("mass_loss",)
    assert found.repetitions.tolist() == [1, 2, 1, 2]
    np.testing.assert_allclose(found.curves[3], np.abs(H) * 4)


def test_universal_files(tmp_path):
    pyuff = pytest.importorskip("pyuff")
    for node in (1, 2):
        one = pyuff.prepare_58(
            binary=0, func_type=4, rsp_node=node, rsp_dir=3, ref_node=1, ref_dir=3, data=H * node, x=F,
            id1="beam", ver_num=0, load_case_id=0, rsp_ent_name="NONE", ref_ent_name="NONE", abscissa_spacing=1,
            abscissa_min=F[0], abscissa_inc=F[1] - F[0], num_pts=len(F), ord_data_type=6,
            abscissa_spec_data_type=18, ordinate_spec_data_type=12, orddenom_spec_data_type=13,
            ordinate_axis_units_lab="m/s2", orddenom_axis_units_lab="N", z_axis_axis_units_lab="NONE",
        )  # fmt: skip
        pyuff.UFF(str(tmp_path / "d_4.uff")).write_sets(one, "add")
    found = read([tmp_path], Source(pattern="d_{d}.uff"), ReadOptions(channel="2Z/1Z")).measurements
    assert (found.kind, found.unit) == (Kind.ACCELERANCE, "m/s2/N")
    np.testing.assert_allclose(found.curves[0], 2 * H, rtol=1e-4)
    with pytest.raises(InputError, match=r"2 points, and this form describes one.*1Z/1Z, 2Z/1Z"):
        read([tmp_path])


def test_touchstone(tmp_path):
    pytest.importorskip("skrf")
    for length in (36, 72):
        s = np.column_stack([F, *(part for k in (1, 2, 3, 4) for part in (k * H.real, k * H.imag))])
        lines = ["# GHz S RI R 50", *(" ".join(f"{v:.12g}" for v in row) for row in s)]
        (tmp_path / f"resonator_{length}mm.s2p").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read([tmp_path], Source(pattern="resonator_{length}mm.s2p")).measurements
    assert found.names == ("length",)
    assert found.kind == Kind.RATIO
    np.testing.assert_allclose(found.frequency, F * 1e9)
    np.testing.assert_allclose(found.curves[0], 2 * H)  # two-port files hold S21 second
    with pytest.raises(InputError, match="2 ports and no channel 'S31'"):
        read([tmp_path], options=ReadOptions(channel="S31"))


def test_matlab(tmp_path):
    io.savemat(tmp_path / "beam.mat", {"f": F, "H": np.column_stack([H, 2 * H]), "d": [0.5, 1.5], "title": "x"})
    found = read([tmp_path / "beam.mat"]).measurements
    assert found.levels[:, 0].tolist() == [0.5, 1.5]
    np.testing.assert_allclose(found.curves, [H, 2 * H])


def test_matlab_by_other_names_and_in_rows(tmp_path):
    io.savemat(tmp_path / "b.mat", {"axis1": F, "Y": np.stack([H, 2 * H])})
    with pytest.raises(InputError, match=r"axis1, Y.*--columns frequency=NAME,response=NAME"):
        read([tmp_path / "b.mat"])
    said = ReadOptions(columns={"frequency": "axis1", "response": "Y"})
    found = read([tmp_path / "b.mat"], Source(numbers="repetitions"), said)
    assert found.measurements.curves.shape == (2, len(F))


def test_matlab_objects_and_new_files_are_refused(tmp_path, monkeypatch):
    io.savemat(tmp_path / "o.mat", {"f": F, "H": H})
    monkeypatch.setattr(io, "whosmat", lambda _: [("f", (91, 1), "double"), ("m", (1, 1), "opaque")])
    with pytest.raises(InputError, match=r"MATLAB objects \(m\).*'-v7'"):
        read([tmp_path / "o.mat"])
    monkeypatch.undo()
    (tmp_path / "n.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(InputError, match=r"7.3 format"):
        read([tmp_path / "n.mat"])
    (tmp_path / "x.mat").write_bytes(b"nothing of the kind" * 30)
    with pytest.raises(InputError, match="cannot be read as a MATLAB file"):
        read([tmp_path / "x.mat"])


@pytest.mark.parametrize(("module", "ending", "package"), [("pyuff", ".uff", "pyuff"), ("skrf", ".s2p", "scikit-rf")])
def test_a_missing_package_is_named_with_the_command(tmp_path, monkeypatch, module, ending, package):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"x{ending}").write_text("x", encoding="utf-8")
    with pytest.raises(MissingExtraError, match=rf"{package}, which is not installed: pip install 'ceql\[frf\]'"):
        read([tmp_path])


def test_broken_files_of_extra_formats(tmp_path):
    pytest.importorskip("pyuff")
    pytest.importorskip("skrf")
    (tmp_path / "x.uff").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"x.uff (cannot be read|holds no frequency)"):
        read([tmp_path / "x.uff"])
    (tmp_path / "x.s2p").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"x.s2p cannot be read as a touchstone"):
        read([tmp_path / "x.s2p"])


# Conditions


def test_a_pattern_finds_several_conditions_and_words(tmp_path):
    linear(tmp_path / "T20" / "load_low_3.csv")
    linear(tmp_path / "T30" / "load_high_3.csv")
    words = parse_words(["low=1", "high=2"])
    found = read([tmp_path], Source(pattern="T{T}/load_{load}_{repetition}.csv", words=words)).measurements
    assert found.names == ("T", "load")
    assert found.conditions.tolist() == [[20, 1], [30, 2]]
    assert found.repetitions.tolist() == [3, 3]


def test_a_star_leaves_all_digits_to_the_number(folder):
    found = read([folder], Source(pattern="Beam_*{d}/P-{repetition}*.txt")).measurements
    assert found.levels[:, 0].tolist() == [0, 20, 40, 60]


def test_a_name_that_does_not_fit_the_pattern(tmp_path):
    linear(tmp_path / "a_1.csv")
    with pytest.raises(InputError, match=r"a_1.csv does not fit the pattern.*condition is missing.*--conditions"):
        read([tmp_path], Source(pattern="b_{d}.csv"))
    with pytest.raises(InputError, match="needs a name in braces"):
        read([tmp_path], Source(pattern="a_1.csv"))
    with pytest.raises(InputError, match="cannot be called 'w'"):
        read([tmp_path], Source(pattern="a_{w}.csv"))


def test_a_missing_condition_is_named_with_the_remedies(tmp_path):
    linear(tmp_path / "damage_1" / "a.csv")
    linear(tmp_path / "other" / "a.csv")
    with pytest.raises(InputError, match=r"other/a.csv: its condition is missing.*--level WORD=NUMBER.*--pattern"):
        read([tmp_path])
    assert read([tmp_path], Source(words=parse_words(["other=7"]))).measurements.levels[:, 0].tolist() == [1, 7]


def test_a_level_that_is_no_number():
    with pytest.raises(InputError, match="WORD=NUMBER"):
        parse_words(["healthy"])


def test_several_numbers_in_a_name_ask_for_a_pattern(tmp_path):
    linear(tmp_path / "b_1_2.csv")
    linear(tmp_path / "b_1_3.csv")
    with pytest.raises(InputError, match=r"several numbers.*--pattern"):
        read([tmp_path])


def test_files_that_count_are_repetitions(tmp_path):
    for k in (1, 2, 3):
        linear(tmp_path / f"P-{k}.csv")
    reading = read([tmp_path])
    assert reading.measurements.repetitions.tolist() == [1, 2, 3]
    assert any("only one condition: every h is a constant" in note for note in reading.notes)


def test_a_single_file_is_a_single_condition(tmp_path):
    reading = read([linear(tmp_path / "x.csv")])
    assert reading.measurements.conditions.shape == (1, 1)
    assert any("every h is a constant" in note for note in reading.notes)


def test_a_table_by_file(tmp_path):
    files = [linear(tmp_path / f"{name}.csv") for name in "abc"]
    table = tmp_path / "conditions.csv"
    table.write_text("file,load,T\na.csv,1,20\nb,2,20\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"c.csv: its condition is missing.*no row for file 'c'. Add that row"):
        read([tmp_path], Source(table=table))
    found = read(files[:2], Source(table=table)).measurements
    assert (found.names, found.conditions.tolist()) == (("load", "T"), [[1, 20], [2, 20]])


def test_a_workbook_by_repetition_is_put_beside_the_folders(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [["Samples", "Positions [mm]", None], [None, "L1", "L2"], *([k, k + 0.5, 10.0 * k] for k in range(1, 6))]
    for row in [*rows, ["Legend", None, None]]:
        book.active.append(row)
    book.save(folder / "positions.xlsx")
    found = read([folder], Source(table=folder / "positions.xlsx")).measurements
    assert found.names == ("d", "L1", "L2")
    assert len(found.levels) == 20
    assert found.conditions[found.repetitions == 3, 1].tolist() == [3.5] * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("load,T\n1,2\n", "needs 'file', 'folder' or 'repetition'"),
        ("file,load\na,x\n", "not a number"),
        ("file,load\na,1\na,2\n", "two rows for a"),
    ],
)
def test_bad_tables(tmp_path, text, words):
    linear(tmp_path / "a.csv")
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read([tmp_path], Source(table=tmp_path / "t.csv"))


# Bad input


def test_other_columns(tmp_path):
    path = write(tmp_path / "a.txt", (F, F), "Moment\tValue", "\t")
    with pytest.raises(InputError, match=r"a.txt has the columns Moment, Value; needed are a frequency.*--columns"):
        read([path])
    found = read([path], options=ReadOptions(columns={"frequency": "Moment", "magnitude": "Value"}))
    assert len(found.measurements.frequency) == len(F)
    with pytest.raises(InputError, match="no column 'Hz' for the frequency"):
        read([path], options=ReadOptions(columns={"frequency": "Hz"}))


def test_one_file_of_many_has_another_column(tmp_path):
    linear(tmp_path / "a_1.5.csv")
    write(tmp_path / "a_2.5.csv", (F, np.abs(H), F * 0 + 3), "Frequency (Hz),Magnitude (m/N),load")
    with pytest.raises(InputError, match=r"a_2.5.csv: its conditions are d, load, those of .*a_1.5.csv are d: load"):
        read([tmp_path])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("f,mag\n1,2\n2,x\n3,4\n", "column 'mag', row 2: 'x' is not a number"),
        ("f,mag\n1,2\n2,\n3,4\n", r"magnitude in row 2 is missing.*--grid interpolate"),
        ("f,mag\n1,2\n1,3\n3,4\n", "1 Hz occurs twice"),
        ("f,mag\n1,2\n2,3\n", "2 rows are too few"),
        ("f (furlong),mag\n1,2\n2,3\n3,4\n", "frequency is in 'furlong'; known are hz"),
        ("f,mag,x\n1,2,1\n2,3,2\n3,4,3\n", "x change from row to row"),
        ("f,mag,phase\n1,2,1\n2,3,3\n3,4,2\n", "may be in radians"),
        ("f,mag\n1,2,3\n2,3,4\n3,4,5\n", "is not a table of numbers"),
    ],
)
def test_bad_files(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read([tmp_path])


def test_gaps_are_refused_or_bridged(tmp_path):
    kept = (F < 30) | (F > 40)
    path = linear(tmp_path / "a.csv", H[kept], F[kept])
    with pytest.raises(
        InputError, match=r"a gap between 29 and 41 Hz. Bridge it with --grid interpolate, or choose a --band"
    ):
        read([path])
    bridged = read([path], Source(grid=Grid.INTERPOLATE))
    np.testing.assert_allclose(bridged.measurements.frequency, F)
    assert any("interpolated linearly" in note for note in bridged.notes)
    assert read([path], Source(band=(45, 100))).measurements.frequency[0] == 45


def test_grids_that_grow_have_no_gaps():
    assert not len(gaps(np.geomspace(1, 1000, 50)))
    assert not len(gaps(np.concatenate([np.arange(0, 10, 1.0), np.arange(10, 50, 5.0)])))


def test_unequal_grids_are_refused_or_interpolated(tmp_path):
    linear(tmp_path / "a_1.5.csv")
    linear(tmp_path / "a_2.5.csv", H[::2], F[::2])
    with pytest.raises(InputError, match=r"Unequal frequency grids: .*91 points.*46 points.*--grid interpolate"):
        read([tmp_path])
    found = read([tmp_path], Source(grid=Grid.INTERPOLATE)).measurements
    np.testing.assert_allclose(found.curves[1][::2], np.abs(H[::2]))


def test_grids_without_common_frequencies(tmp_path):
    linear(tmp_path / "a_1.5.csv")
    linear(tmp_path / "a_2.5.csv", H, F + 500)
    with pytest.raises(InputError, match="no frequencies in common"):
        read([tmp_path], Source(grid=Grid.INTERPOLATE))


def test_mixed_scales_ask_which(tmp_path):
    write(tmp_path / "a_1.5.csv", (F, 20 * np.log10(np.abs(H)) - 20), "f,mag")
    write(tmp_path / "a_2.5.csv", (F, 20 + 20 * np.log10(np.abs(H))), "f,mag")
    with pytest.raises(InputError, match=r"Mixed units: .*a_1.5.csv has negative magnitudes.*--magnitude db"):
        read([tmp_path])
    found = read([tmp_path], options=ReadOptions(scale=Scale.DECIBEL)).measurements
    np.testing.assert_allclose(found.curves[1], 10 * np.abs(H))
    with pytest.raises(InputError, match="cannot be negative"):
        read([tmp_path], options=ReadOptions(scale=Scale.LINEAR))


def test_mixed_units_and_kinds_are_refused(tmp_path):
    linear(tmp_path / "a_1.5.csv")
    linear(tmp_path / "a_2.5.csv", header="Frequency (Hz),Magnitude (mm/N)")
    with pytest.raises(InputError, match=r"Mixed units: .*a_1.5.csv is in m/N, .*a_2.5.csv is in mm/N"):
        read([tmp_path])


def test_a_file_that_contradicts_the_kind(tmp_path):
    pytest.importorskip("skrf")
    (tmp_path / "a.s1p").write_text("# Hz S RI R 50\n1 1 0\n2 1 0\n3 1 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Mixed FRF types: .*a.s1p says ratio, --kind says mobility"):
        read([tmp_path], options=ReadOptions(kind=Kind.MOBILITY))


def test_files_without_phase_make_all_of_them_magnitudes(tmp_path):
    linear(tmp_path / "a_1.5.csv")
    write(tmp_path / "a_2.5.csv", (F, H.real, H.imag), "f,real [m/N],imag [m/N]")
    reading = read([tmp_path])
    assert not reading.measurements.is_complex
    assert any("no phase" in note for note in reading.notes)


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(InputError, match="no file or folder"):
        read([tmp_path / "absent"])
    with pytest.raises(InputError, match="no file with one of the endings"):
        read([tmp_path])
    (tmp_path / "x.docx").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"'.docx'; known are .txt"):
        read([tmp_path / "x.docx"])
    with pytest.raises(InputError, match="Give a folder"):
        read([])
