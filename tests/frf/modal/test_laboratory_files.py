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
from ceql.frf.formats.time_data import is_impact, said_rate
from ceql.frf.kinds import Kind, kind_of_unit
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
    assert any("taken as points (change this with --numbers repetitions)" in note for note in reading.notes)
    told = read_survey([tmp_path], Source(numbers="repetitions")).survey
    assert (len(told.points), len(told.sets)) == (1, 3)
    folder_of(tmp_path, [noisy(CURVES[[0]], 40.0, seed)[0] for seed in range(3)])
    alike = read_survey([tmp_path])
    assert (len(alike.survey.points), len(alike.survey.sets)) == (1, 3)
    assert any("taken as repetitions (change this with --numbers points)" in note for note in alike.notes)


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


# ---- what measuring programs write ---------------------------------------------------------------------------------

LABVIEW = """LabVIEW Measurement\t
Separator\tTab
Decimal_Separator\t{decimal}
X_Columns\t{columns}
Date\t2019/05/14
***End_of_Header***\t
\t
Channels\t2\t\t
Samples\t{n}\t{n}\t
Y_Unit_Label\t{units[0]}\t{units[1]}\t
X_Dimension\t{axis}\t{axis}\t
X0\t{first}\t{first}\t
Delta_X\t{step}\t{step}\t
***End_of_Header***\t\t\t
X_Value\t{names[0]}\t{names[1]}\tComment
"""


def labview(columns, **said):
    """A file with the abscissa in the first column, or without it and then with decimal commas."""
    first, others = columns[0], columns[1:]
    bare = said.get("bare", False)
    head = LABVIEW.format(
        decimal="," if bare else ".", columns="No" if bare else "One", n=len(first), units=said["units"],
        axis=said["axis"], first=first[0], step=first[1] - first[0], names=said["names"],
    )  # fmt: skip
    if bare:
        head = head.replace(f"{first[1] - first[0]}", f"{first[1] - first[0]}".replace(".", ","))
    lines = rows(others, decimal=",") if bare else rows(columns)
    return head + "\n".join(f"\t{line}" if bare else line for line in lines)


@pytest.mark.parametrize("bare", [False, True])
def test_labview_measurements(tmp_path, bare):
    columns = (F, 20 * np.log10(np.abs(CURVES[0])), np.degrees(np.angle(CURVES[0])))
    said = {"units": ("dB", "deg"), "names": ("Magnitude", "Phase"), "axis": "Frequency", "bare": bare}
    (tmp_path / "a.lvm").write_text(labview(columns, **said), encoding="utf-8")
    one = read_survey([tmp_path / "a.lvm"]).survey.sets[0]
    np.testing.assert_allclose(one.frequency, F)
    np.testing.assert_allclose(one.curves[0], CURVES[0], rtol=1e-5)


@pytest.mark.parametrize("parts", ["complex", "polar"])
def test_units_in_brackets_with_blanks_say_the_kind(tmp_path, parts):
    own = CURVES[0]
    names, last = ("Real\tImaginary", "[ (m/s) / N ]") if parts == "complex" else ("Magnitude\tPhase", "[ ° ]")
    head = f"Source File Name:\tC:\\\\scan.svd\nDomain:\tFFT\n\nFrequency\t{names}\n[ Hz ]\t[ (m/s) / N ]\t{last}\n\n"
    columns = (F, own.real, own.imag) if parts == "complex" else (F, np.abs(own), np.degrees(np.angle(own)))
    (tmp_path / "a.txt").write_bytes((head + "\n".join(rows(columns))).encode("latin-1"))
    survey = read_survey([tmp_path / "a.txt"]).survey
    assert survey.kind == Kind.MOBILITY
    np.testing.assert_allclose(survey.sets[0].curves[0], own, rtol=1e-5)


def test_names_that_repeat_are_channels(tmp_path):
    columns = [F, *(part for curve in CURVES for part in (np.abs(curve), np.degrees(np.angle(curve))))]
    head = [
        "Program 17",
        "",
        "\t".join(["Frequency", *["Amplitude", "Phase"] * 3]),
        "\t".join(["Hz", *["(m/s2)/N", "°"] * 3]),
    ]
    (tmp_path / "a.txt").write_bytes("\r\n".join([*head, *rows(columns)]).encode("utf-16"))
    survey = read_survey([tmp_path / "a.txt"]).survey
    assert survey.points == ("1", "2", "3")
    assert survey.kind == Kind.ACCELERANCE
    np.testing.assert_allclose(survey.sets[0].curves, CURVES, rtol=1e-5)
    (tmp_path / "b.csv").write_text(
        "\n".join(["f,Re,Im,Re,Im", *rows((F, *(p for c in CURVES[:2] for p in (c.real, c.imag))), ",")]),
        encoding="utf-8",
    )
    np.testing.assert_allclose(read_survey([tmp_path / "b.csv"]).survey.sets[0].curves, CURVES[:2], rtol=1e-6)


@pytest.mark.parametrize("form", ["({0.real:.9e}{0.imag:+.9e}j)", "{0.real:.9e} {0.imag:+.9e}i"])
def test_complex_numbers_in_one_cell(tmp_path, form):
    lines = [f"{f};{form.format(a)};{form.format(b)}" for f, a, b in zip(F, CURVES[0], CURVES[1], strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["frequency;H1;H2", *lines]), encoding="utf-8")
    survey = read_survey([tmp_path / "a.csv"]).survey
    assert survey.points == ("H1", "H2")
    np.testing.assert_allclose(survey.sets[0].curves, CURVES[:2], rtol=1e-6)


def test_bars_and_arguments_are_magnitude_and_phase(tmp_path):
    lines = ["f,|H|,arg(H) [rad]", *rows((F, np.abs(CURVES[0]), np.angle(CURVES[0])), ",")]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    np.testing.assert_allclose(read_survey([tmp_path / "a.csv"]).survey.sets[0].curves[0], CURVES[0], rtol=1e-6)


@pytest.mark.parametrize("turns", [0.0, -20.0])
def test_a_phase_that_may_be_in_radians_is_asked_for(tmp_path, turns):
    lines = ["Freq,Mag,Phase", *rows((F, np.abs(CURVES[0]), np.unwrap(np.angle(CURVES[0])) + turns), ",")]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"may be in radians\. Use --phase rad or --phase deg"):
        read_recordings([tmp_path / "a.csv"])
    found = read_survey([tmp_path / "a.csv"], options=ReadOptions(phase="rad")).survey.sets[0].curves[0]
    np.testing.assert_allclose(found, CURVES[0] * np.exp(1j * turns), rtol=1e-6)


def test_a_first_row_at_zero_hertz_may_be_minus_infinity(tmp_path):
    lines = ["Frequency (Hz)\tMagnitude (dB)\tPhase (deg)", "0\t-inf\t0"]
    lines += rows((F, 20 * np.log10(np.abs(CURVES[0])), np.degrees(np.angle(CURVES[0]))))
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    np.testing.assert_allclose(read_survey([tmp_path / "a.txt"]).survey.sets[0].frequency, F)


@pytest.mark.parametrize("word", ["Point {}", "Point Index:\t{}"])
def test_tables_one_below_the_other_are_all_read(tmp_path, word):
    parts = [
        [word.format(k + 1), "Frequency\tReal\tImag", *rows((F, c.real, c.imag)), ""] for k, c in enumerate(CURVES)
    ]
    (tmp_path / "a.txt").write_text("\n".join(line for part in parts for line in part), encoding="utf-8")
    survey = read_survey([tmp_path / "a.txt"]).survey
    assert survey.points == tuple(word.format(k) for k in (1, 2, 3))
    np.testing.assert_allclose(survey.sets[0].curves, CURVES, rtol=1e-6)


def test_commas_between_decimal_commas_are_answered(tmp_path):
    lines = [
        "Frequenz,Real,Imag",
        *(
            ",".join(f"{v:.6f}".replace(".", ",") for v in row)
            for row in np.column_stack((F, CURVES[0].real, CURVES[0].imag))
        ),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="commas stand between them as well"):
        read_recordings([tmp_path / "a.csv"])


def test_text_with_another_ending_is_read_and_others_are_answered(tmp_path):
    folder_of(tmp_path, CURVES[:1], "frf_{}.export")
    assert read_survey([tmp_path / "frf_1.export"]).survey.sets[0].curves.shape == (1, len(F))
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04\x00\x00")
    with pytest.raises(InputError, match=r"'\.xlsx'; known are .*Save the sheet with the curve as CSV"):
        read_recordings([tmp_path / "a.xlsx"])


def test_matlab_parts_steps_and_elements(tmp_path):
    def curves(name, arrays, **said):
        io.savemat(tmp_path / name, arrays)
        return read_survey([tmp_path / name], options=ReadOptions(**said)).survey.sets[0].curves

    np.testing.assert_allclose(
        curves("a.mat", {"freq": F, "H_real": np.real(CURVES.T), "H_imag": np.imag(CURVES.T)}), CURVES
    )
    polar = {"freq": F, "FRF_mag": np.abs(CURVES.T), "FRF_phase": np.degrees(np.angle(CURVES.T))}
    with pytest.raises(InputError, match="--phase deg or --phase rad"):
        curves("b.mat", polar)
    np.testing.assert_allclose(curves("b.mat", polar, phase="deg"), CURVES)
    axis = {"start_value": F[0], "increment": 0.5, "number_of_values": float(len(F))}
    np.testing.assert_allclose(curves("c.mat", {"Data": {"x_values": axis, "y_values": {"values": CURVES.T}}}), CURVES)
    elements = np.zeros((1, 3), dtype=[("freq", "O"), ("frf", "O")])
    for k in range(3):
        elements[0, k] = (F[:, None], CURVES[k][:, None])
    np.testing.assert_allclose(curves("d.mat", {"points": elements}), CURVES)


def blows(n, rate, starts):
    force = np.zeros(n)
    for start in starts:
        force[start : start + 6] = np.sin(np.linspace(0.3, np.pi - 0.3, 6))
    grid = np.fft.rfftfreq(n, 1 / rate)
    transfer = response(np.maximum(grid, 1e-6), [60.0, 130.0], [0.02, 0.01], SHAPES[:, :1])[0]
    return force, np.fft.irfft(np.fft.rfft(force) * transfer, n)


@pytest.mark.parametrize("starts", [(50,), (50, 8192 + 60, 2 * 8192 + 40, 3 * 8192 + 50)])
@pytest.mark.parametrize(
    "header",
    ["t [s]\tF [N]\ta [m/s²]", "Time (ms)\tHammer 1 (N)\tAcc (g)", "# Sampling rate: 2048 Hz\nForce [N]\tAcc [g]"],
)
def test_blows_of_a_hammer_by_their_units(tmp_path, starts, header):
    rate, n = 2048.0, 2**15
    force, signal = blows(n, rate, starts)
    time = np.arange(n) / rate * (1000.0 if "ms" in header else 1.0)
    columns = (force, signal) if "#" in header else (time, force, signal)
    (tmp_path / "a.txt").write_text("\n".join([header, *rows(columns)]), encoding="utf-8")
    reading = read_survey([tmp_path / "a.txt"])
    assert any("less than 0.1 % of its largest power: left out" in note for note in reading.notes)
    assert reading.survey.kind == Kind.ACCELERANCE
    assert (reading.survey.sets[0].coherence is None) == (len(starts) == 1)
    sound = analyse_modes(reading.survey, ModalSettings()).sound
    np.testing.assert_allclose([track.frequency for track in sound], [60.0, 130.0], rtol=1e-3)


def test_time_data_without_a_rate_are_answered(tmp_path):
    force, signal = blows(4096, 2048.0, (50,))
    (tmp_path / "a.txt").write_text("\n".join(["Force\tAcc", *rows((force, signal))]), encoding="utf-8")
    with pytest.raises(InputError, match="--sampling-rate 2048"):
        read_recordings([tmp_path / "a.txt"])


@pytest.mark.parametrize(
    ("line", "rate"),
    [("Sampling rate: 2048 Hz", 2048.0), ("sample frequency [kHz] = 51,2", 51200.0), ("fs=25.6 kHz", 25600.0),
     ("Abtastrate 1000", 1000.0), ("Samples: 4096", None)],
)  # fmt: skip
def test_sampling_rates_in_words(line, rate):
    assert said_rate(["Test", line]) == rate


@pytest.mark.parametrize(
    ("unit", "kind"),
    [("m/s²/N", "accelerance"), ("(m/s^2)/N", "accelerance"), ("g/N", "accelerance"), ("(mm/s)/N", "mobility"),
     ("µm/N", "receptance"), ("in/lbf", "receptance"), ("m/s²", None), ("V", None), ("", None)],
)  # fmt: skip
def test_units_that_say_the_kind(unit, kind):
    assert kind_of_unit(unit) == kind
