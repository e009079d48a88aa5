"""Files as laboratories write them: odd encodings, remarks, several points, structures, time data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io

from ceql.errors import InputError
from ceql.frf.curve import ReadOptions
from ceql.frf.formats.channels import role_and_channel
from ceql.frf.formats.time_data import is_impact
from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.readers import Source, read_recordings, read_survey

from .made_data import noisy, response

F = np.arange(10.0, 200.0, 0.5)
SHAPES = np.array([[1.0, -0.5, 0.8], [0.6, 0.9, -0.7]])
CURVES = response(F, [60.0, 130.0], [0.02, 0.01], SHAPES)


def rows(columns, separator="\t", decimal="."):
    lines = (separator.join(f"{value:.9g}" for value in row) for row in np.column_stack(columns))
    return [line.replace(".", decimal) for line in lines]


def test_a_preamble_decimal_commas_units_of_their_own_and_a_windows_encoding(tmp_path):
    for level in (1, 2):
        head = ["Prüfstand: Fügestelle", "Datum: 12.03.2021 14:05", "", "Frequenz;Betrag;Phase", "Hz;m/s²/N;°"]
        own = (F, np.abs(CURVES[0]), np.degrees(np.angle(CURVES[0])))
        (tmp_path / f"kraft_{level}N.txt").write_bytes("\r\n".join([*head, *rows(own, ";", ",")]).encode("cp1252"))
    survey = read_survey([tmp_path]).survey
    assert survey.conditions == [(1.0,), (2.0,)]
    np.testing.assert_allclose(survey.sets[0].curves[0], CURVES[0], rtol=1e-6)
    assert survey.unit == "m/s²/N"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_encodings_and_several_channels(tmp_path, encoding):
    names = ["Frequency [Hz]", *(f"{part}(H{k + 1})" for k in range(3) for part in ("Re", "Im"))]
    columns = [F, *(part for curve in CURVES for part in (curve.real, curve.imag))]
    text = "\n".join(["Test Nr. 12", "Sensor: Größe 3", "", "\t".join(names), *rows(columns)])
    (tmp_path / "multi.txt").write_bytes(text.encode(encoding))
    survey = read_survey([tmp_path / "multi.txt"]).survey
    assert survey.points == ("H1", "H2", "H3")
    np.testing.assert_allclose(survey.sets[0].curves, CURVES, rtol=1e-6)


def test_columns_without_names_are_said_by_their_numbers(tmp_path):
    path = tmp_path / "bare.txt"
    path.write_text("\n".join(rows((F, CURVES[0].real, CURVES[0].imag))), encoding="utf-8")
    with pytest.raises(InputError, match="--columns frequency=1,real=2,imag=3"):
        read_recordings([path])
    said = ReadOptions(columns={"frequency": "1", "real": "2", "imag": "3"})
    np.testing.assert_allclose(read_survey([path], options=said).survey.sets[0].curves[0], CURVES[0], rtol=1e-6)


def test_text_without_a_table_is_answered(tmp_path):
    (tmp_path / "a.txt").write_text("only\nwords\nhere\n\nand there\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no table"):
        read_recordings([tmp_path / "a.txt"])


def test_structures_of_matlab(tmp_path):
    inner = {"freq": F, "H": CURVES.T, "coherence": np.full(CURVES.T.shape, 0.98)}
    io.savemat(tmp_path / "a.mat", {"Test": {"Info": "words", "FRF": inner}})
    survey = read_survey([tmp_path / "a.mat"]).survey
    assert len(survey.points) == 3
    np.testing.assert_allclose(survey.sets[0].curves, CURVES)
    assert survey.sets[0].coherence is not None
    io.savemat(tmp_path / "b.mat", {"Test": {"axis": F, "Y": CURVES.T}})
    with pytest.raises(InputError, match=r"Test\.axis 1x380, Test\.Y 380x3.*--columns frequency=NAME,response=NAME"):
        read_recordings([tmp_path / "b.mat"])
    said = ReadOptions(columns={"frequency": "Test.axis", "response": "Y"})
    assert len(read_survey([tmp_path / "b.mat"], options=said).survey.points) == 3


def universal(path, curves, function=4, first=1):
    pyuff = pytest.importorskip("pyuff")
    for k, curve in enumerate(curves):
        one = pyuff.prepare_58(
            binary=0, func_type=function, rsp_node=k + first, rsp_dir=3, ref_node=1, ref_dir=3, data=curve, x=F, id1="",
            ver_num=0, load_case_id=0, rsp_ent_name="NONE", ref_ent_name="NONE", abscissa_spacing=1, abscissa_min=F[0],
            abscissa_inc=0.5, num_pts=len(F), ord_data_type=6 if np.iscomplexobj(curve) else 4,
            abscissa_spec_data_type=18, ordinate_spec_data_type=12, orddenom_spec_data_type=13,
            ordinate_axis_units_lab="m/s2", orddenom_axis_units_lab="N", z_axis_axis_units_lab="NONE",
        )  # fmt: skip
        pyuff.UFF(str(path)).write_sets(one, "add")


def test_a_universal_file_of_several_points_with_coherence(tmp_path):
    universal(tmp_path / "a.uff", CURVES)
    universal(tmp_path / "a.uff", [np.full(len(F), 0.9)] * 3, function=6)
    survey = read_survey([tmp_path / "a.uff"]).survey
    assert survey.points == ("1Z/1Z", "2Z/1Z", "3Z/1Z")
    assert survey.sets[0].coherence is not None
    np.testing.assert_allclose(survey.sets[0].coherence, 0.9, rtol=1e-5)


def test_headers_that_agree_are_repetitions_and_others_points(tmp_path):
    for name in ("a_1", "a_2"):
        universal(tmp_path / f"{name}.uff", CURVES[:2])
    survey = read_survey([tmp_path]).survey
    assert len(survey.points) == 2
    (tmp_path / "b").mkdir()
    for k in (0, 1, 2):
        universal(tmp_path / "b" / f"x{3 * k + 4}.uff", CURVES[[k]], first=k + 1)
    points = read_survey([tmp_path / "b"]).survey
    assert len(points.points) == 3
    assert len(points.sets) == 1


def folder_of(tmp_path, curves, name="FRF_{}.txt"):
    for k, curve in enumerate(curves):
        lines = ["Freq Real Imag", *rows((F, curve.real, curve.imag), " ")]
        (tmp_path / name.format(k + 1)).write_text("\n".join(lines), encoding="utf-8")


def test_curves_that_differ_are_points_and_curves_that_agree_repetitions(tmp_path):
    folder_of(tmp_path, CURVES)
    reading = read_survey([tmp_path])
    assert (len(reading.survey.points), len(reading.survey.sets)) == (3, 1)
    assert any("count as points: --numbers repetitions says otherwise" in note for note in reading.notes)
    told = read_survey([tmp_path], Source(numbers="repetitions")).survey
    assert (len(told.points), len(told.sets)) == (1, 3)
    folder_of(tmp_path, [noisy(CURVES[[0]], 40.0, seed)[0] for seed in range(3)])
    alike = read_survey([tmp_path])
    assert (len(alike.survey.points), len(alike.survey.sets)) == (1, 3)
    assert any("--numbers points says otherwise" in note for note in alike.notes)


def test_names_and_patterns_number_points(tmp_path):
    folder_of(tmp_path, CURVES, "point {}.txt")
    assert len(read_survey([tmp_path]).survey.points) == 3
    survey = read_survey([tmp_path], Source(pattern="point {point}.txt")).survey
    assert survey.points == ("1", "2", "3")


@pytest.mark.parametrize("excitation", ["random", "impact"])
def test_time_data_give_the_response(tmp_path, excitation):
    rate, n = 1024.0, 2**15
    rng = np.random.default_rng(0)
    force = rng.standard_normal(n) if excitation == "random" else np.zeros(n)
    if excitation == "impact":
        force[50:53] = (0.4, 1.0, 0.5)
    grid = np.fft.rfftfreq(n, 1 / rate)
    transfer = response(np.maximum(grid, 1e-6), [60.0, 130.0], [0.02, 0.01], SHAPES[:, :1])[0]
    signal = np.fft.irfft(np.fft.rfft(force) * transfer, n)
    header = "time,force,a1"
    np.savetxt(tmp_path / "t.csv", np.column_stack([np.arange(n) / rate, force, signal]), delimiter=",", header=header,
               comments="")  # fmt: skip
    one = read_survey([tmp_path / "t.csv"], Source(band=(20, 200))).survey.sets[0]
    expected = np.interp(one.frequency, F, np.abs(CURVES[0]))
    near = np.abs(one.frequency - 60.0) < 3.0
    np.testing.assert_allclose(np.abs(one.curves[0])[near], expected[near], rtol=0.1)
    assert (one.coherence is None) == (excitation == "impact")


def test_time_data_without_a_force_are_answered(tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).standard_normal((100, 3)), delimiter=",",
               header="time,a1,a2", comments="")  # fmt: skip
    with pytest.raises(InputError, match=r"no channel is marked as the force.*--columns force=a1"):
        read_recordings([tmp_path / "t.csv"])


def test_magnitudes_alone_are_answered(tmp_path):
    lines = ["Frequency (Hz),Magnitude (m/N)", *rows((F, np.abs(CURVES[0])), ",")]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert not read_recordings([tmp_path / "a.csv"]).have_phases
    with pytest.raises(InputError, match="holds no phase"):
        read_survey([tmp_path / "a.csv"])


def test_a_blow_is_told_from_a_steady_force():
    rng = np.random.default_rng(0)
    assert not is_impact(rng.standard_normal(1000))
    assert is_impact(np.where(np.arange(1000) < 5, 1.0, 1e-3))


@given(
    st.sampled_from(["Re", "Im", "Real", "Imag", "Mag", "Phase", "Coherence"]),
    st.from_regex(r"[A-H][0-9]{1,2}", fullmatch=True),
)
def test_a_channel_is_what_its_name_has_beside_the_role(role, channel):
    for name in (f"{channel} {role}", f"{role} {channel}", f"{channel}_{role} (dB)"):
        found = role_and_channel(name)
        assert found is not None
        assert found[1].replace(" ", "") == channel


def test_numbers_with_a_quantity_or_a_unit_are_conditions(tmp_path):
    folder_of(tmp_path, [CURVES[0]] * 3, "amp_{}.txt")
    assert read_survey([tmp_path]).survey.conditions == [(1.0,), (2.0,), (3.0,)]
    (tmp_path / "b").mkdir()
    folder_of(tmp_path / "b", [CURVES[0]] * 3, "x{}N.txt")
    assert read_survey([tmp_path / "b"]).survey.conditions == [(1.0,), (2.0,), (3.0,)]


def test_a_dead_channel_does_no_harm(tmp_path):
    folder_of(tmp_path, [CURVES[0], 0 * CURVES[1], CURVES[2]], "node {}.txt")
    analysis = analyse_modes(read_survey([tmp_path]).survey, ModalSettings())
    assert [round(track.frequency) for track in analysis.sound] == [60, 130]
    assert all(abs(track.shape[1]) < 1e-6 for track in analysis.sound)


def test_angular_frequencies(tmp_path):
    lines = ["omega,real,imag", *rows((2 * np.pi * F, CURVES[0].real, CURVES[0].imag), ",")]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    np.testing.assert_allclose(read_survey([tmp_path / "a.csv"]).survey.sets[0].frequency, F, rtol=1e-6)
