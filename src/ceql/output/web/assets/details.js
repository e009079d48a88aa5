// One formula in full: typeset, with its numbers, caveats and adjustable constants, and charts in and beyond the data.
"use strict";

(() => {
    const { h, number } = ceql;
    const STEPS = 600,
        WIDEN = 0.5;
    const KINDS = { pole: "pole", "log singularity": "log-singularity", "edge of the domain": "edge" };

    // The data of a page, unpacked once.
    ceql.dataOf = (view) => {
        const columns = new Map(
            view.columns.map((column) => [column.index, { ...column, data: ceql.unpack(column.values) }]),
        );
        return { view, columns, y: ceql.unpack(view.y), target: view.target };
    };

    function numbersOf(row) {
        const pairs = [
            ["R²", row.r2 === null ? "no variation" : Math.abs(row.r2) < 5e-7 ? "0" : number(row.r2, 6)],
            ["R², rows held out", number(row.r2_cv, 6)],
            ["RMSE", number(row.rmse)],
            ["largest residual", number(row.largest)],
            ["loss", number(row.loss)],
            ["complexity", ceql.nodes(row.complexity)],
            ["weight", ceql.weight(row.weight)],
        ];
        return h(
            "dl",
            { class: "numbers" },
            pairs
                .filter(([, value]) => value)
                .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
        );
    }

    function rowsOf(data, k) {
        const shown = (column) => (column.labels ? column.labels[column.data[k]] : number(column.data[k], 6));
        const all = [...data.columns.values()],
            some = all.filter((column, place) => place < 6 || column.labels);
        return some.map((column) => `${column.name} = ${shown(column)}`);
    }

    const withUnit = (name, unit) => (unit && unit !== "1" && !name.includes(unit) ? `${name} [${unit}]` : name);

    // Everything that changes with the constants of a formula: values, residuals and the curve along a column.
    function evaluator(data, row) {
        const rows = data.y.length,
            along = (index) => data.columns.get(index).data;
        const groups = ceql.groupsOf(data, row);
        const state = { constants: row.constants.map((c) => c.value), changed: false, groups };
        const refresh = () => {
            const constants = [...state.constants, ...(groups ? groups.ofRows() : [])];
            state.predicted = ceql.run(row.program, along, constants, rows);
            state.changed =
                row.constants.some((c, k) => c.value !== state.constants[k]) || Boolean(groups && groups.changed());
            state.residual = data.y.map((y, k) => y - state.predicted[k]);
            state.limits = ceql.shownRange([...data.y, ...state.predicted]);
            const known = state.residual.filter(Number.isFinite);
            state.rmse = Math.sqrt(known.reduce((sum, r) => sum + r * r, 0) / known.length);
            state.undefined = rows - known.length;
        };
        state.refresh = refresh;
        // The curve along a column, with the others at their medians; for one group if there are groups.
        state.course = (index, code = null) => {
            const { low, high } = data.columns.get(index);
            const room = WIDEN * (high > low ? high - low : Math.max(1, Math.abs(low)));
            const ends = [low - room, high + room],
                step = (ends[1] - ends[0]) / STEPS;
            const grid = Array.from({ length: STEPS + 1 }, (_, k) => ends[0] + k * step);
            grid.push(low, high);
            if (!state.changed) {
                for (const border of row.borders[index] || []) {
                    for (let share = 0.5; share > 1e-4; share /= 2)
                        grid.push(border.at - share * step, border.at + share * step);
                }
            }
            const x = Float64Array.from(grid.filter((v) => v >= ends[0] && v <= ends[1])).sort();
            const middle = (k) => (code === null ? data.columns.get(k).median : groups.median(code, k));
            const y = ceql.run(
                row.program,
                (k) => (k === index ? x : middle(k)),
                [...state.constants, ...(code === null ? [] : groups.ofGroup(code))],
                x.length,
            );
            return { x, y, low, high, ends };
        };
        refresh();
        return state;
    }

    function fitChart(data, model) {
        return ceql.chart("Measured and formula", () => ({
            x: model.limits,
            y: model.limits,
            xLabel: `${data.target}, measured`,
            yLabel: `${data.target}, formula`,
            layers: [
                { type: "line", kind: "equal", x: model.limits, y: model.limits },
                {
                    type: "points",
                    x: data.y,
                    y: model.predicted,
                    tell: (k) => [
                        `measured ${number(data.y[k], 6)}`,
                        `formula ${number(model.predicted[k], 6)}`,
                        ...rowsOf(data, k),
                    ],
                },
            ],
        }));
    }

    function residualChart(data, model) {
        const choices = [
            ["", `${data.target}, formula`],
            ["row", "row of the table"],
            ...[...data.columns.values()].map((c) => [String(c.index), c.name]),
        ];
        const select = h(
            "select",
            { "aria-label": "Residuals against", onchange: () => chart.show() },
            choices.map(([value, name]) => h("option", { value }, name)),
        );
        const chart = ceql.chart(
            "Residuals",
            () => {
                const against = select.value;
                const x =
                    against === ""
                        ? model.predicted
                        : against === "row"
                          ? Float64Array.from(data.y, (_, k) => k + 1)
                          : data.columns.get(Number(against)).data;
                const spread = ceql.shownRange(model.residual),
                    ends = ceql.shownRange(x);
                return {
                    x: ends,
                    y: [Math.min(spread[0], 0), Math.max(spread[1], 0)],
                    xLabel: select.selectedOptions[0].textContent,
                    yLabel: "measured − formula",
                    layers: [
                        { type: "line", kind: "equal", x: ends, y: [0, 0] },
                        {
                            type: "points",
                            x,
                            y: model.residual,
                            tell: (k) => [
                                `residual ${number(model.residual[k], 4)}`,
                                `measured ${number(data.y[k], 6)}`,
                                ...rowsOf(data, k),
                            ],
                        },
                    ],
                };
            },
            { tools: h("label", {}, "against ", select), noLogY: true },
        );
        return chart;
    }

    // A chart with a curve for each group, and its rows if there is only one input.
    function groupsChart(data, row, model, index) {
        const column = data.columns.get(index),
            alone = row.used.length === 1,
            { groups } = model;
        return ceql.chart(`Along ${column.name}`, () => {
            const { low, high, ends } = model.course(index, groups.shown);
            const layersOf = (code) => {
                const { x, y } = model.course(index, code),
                    cut = ceql.inPieces(y, model.limits),
                    mine = groups.rows[code],
                    shown = code === groups.shown ? " shown" : "";
                const part = (inside) => cut.map((v, k) => ((x[k] >= low && x[k] <= high) === inside ? v : NaN));
                const line = (kind, values) => ({
                    type: "line",
                    kind: `${kind} ${ceql.colourOf(code)}${shown}`,
                    x,
                    y: values,
                });
                return [
                    {
                        type: "points",
                        kind: `points ${alone ? "" : "faint "}${ceql.colourOf(code)}`,
                        x: mine.map((k) => column.data[k]),
                        y: mine.map((k) => data.y[k]),
                        tell: (k) => [`${data.target} = ${number(data.y[mine[k]], 6)}`, ...rowsOf(data, mine[k])],
                    },
                    line("curve outside", part(false)),
                    line("curve", part(true)),
                ];
            };
            return {
                x: ends,
                y: model.limits,
                xLabel: withUnit(column.name, column.unit),
                yLabel: withUnit(data.target, data.view.unit),
                caption: [
                    ceql.legend(groups),
                    `Data from ${number(low)} to ${number(high)}, shaded; dashed beyond.`,
                    alone ? "" : " Other inputs are held at the medians of the group; the points are not.",
                ],
                layers: [{ type: "band", kind: "range", low, high }, ...groups.labels.flatMap((_, k) => layersOf(k))],
            };
        });
    }

    function sliceChart(data, row, model, index) {
        if (model.groups) return groupsChart(data, row, model, index);
        const column = data.columns.get(index),
            alone = row.used.length === 1;
        return ceql.chart(`Along ${column.name}`, () => {
            const { x, y, low, high, ends } = model.course(index),
                cut = ceql.inPieces(y, model.limits);
            const part = (inside) => cut.map((v, k) => ((x[k] >= low && x[k] <= high) === inside ? v : NaN));
            const borders = model.changed ? [] : row.borders[index] || [];
            const points = {
                type: "points",
                kind: alone ? "points" : "points faint",
                x: column.data,
                y: data.y,
                tell: (k) => [`${data.target} = ${number(data.y[k], 6)}`, ...rowsOf(data, k)],
            };
            const marks = borders.slice(0, 6).map((border) => `${border.kind} at ${number(border.at, 6)}`);
            const held = row.used
                .filter((k) => k !== index)
                .map((k) => `${data.columns.get(k).name} = ${number(data.columns.get(k).median, 4)}`);
            return {
                x: ends,
                y: model.limits,
                xLabel: withUnit(column.name, column.unit),
                yLabel: withUnit(data.target, data.view.unit),
                caption: [
                    `Data from ${number(low)} to ${number(high)}, shaded; dashed beyond.`,
                    marks.length ? ` Singular: ${marks.join("; ")}.` : "",
                    held.length ? ` Held at their medians: ${held.join(", ")}; the points are not.` : "",
                ],
                layers: [
                    { type: "band", kind: "range", low, high },
                    points,
                    ...borders.map((border) => ({
                        type: "vertical",
                        kind: KINDS[border.kind] || "pole",
                        at: border.at,
                    })),
                    { type: "line", kind: "curve outside", x, y: part(false) },
                    { type: "line", kind: "curve", x, y: part(true) },
                ],
            };
        });
    }

    function codeTools(data, row) {
        const select = h(
            "select",
            { "aria-label": "Language", onchange: () => show() },
            Object.keys(row.code).map((name) => h("option", { value: name }, name)),
        );
        const shown = h("pre", { hidden: true }, h("code"));
        const code = () => row.code[select.value] || "";
        const show = () => {
            shown.firstChild.textContent = code();
        };
        show();
        const fold = h(
            "button",
            {
                type: "button",
                class: "small",
                onclick: () => {
                    shown.hidden = !shown.hidden;
                    fold.textContent = shown.hidden ? "Show code" : "Hide code";
                },
            },
            "Show code",
        );
        const latex = () => (row.code.latex || "").trim().split("\n").pop();
        if (row.groups && row.groups.own.length)
            return [
                h(
                    "div",
                    { class: "buttons" },
                    ceql.copyButton("Copy formula", () => `${data.target} = ${row.text}`),
                    ceql.copyButton("Copy LaTeX", latex),
                ),
                h(
                    "p",
                    { class: "soft" },
                    "Code is written for one group at a time, from the model: ",
                    h("code", {}, `ceql export MODEL --to c --group '${row.groups.labels[0]}'`),
                ),
            ];
        return [
            h(
                "div",
                { class: "buttons" },
                ceql.copyButton("Copy formula", () => `${data.target} = ${row.text}`),
                ceql.copyButton("Copy LaTeX", latex),
                h("label", {}, "code ", select),
                fold,
                ceql.copyButton("Copy code", code),
            ),
            shown,
        ];
    }

    function careful(row) {
        if (row.caveats === null)
            return h("p", { class: "soft" }, "A formula this long is checked for poles only if it is the chosen one.");
        if (!row.caveats.length)
            return h(
                "p",
                {},
                "The formula has no pole and no edge of its domain within the data, or within half their range beyond them.",
            );
        return h(
            "ul",
            { class: "caveats" },
            row.caveats.map((text) => h("li", {}, text)),
        );
    }

    // The details of row `k`.
    ceql.details = (data, k) => {
        const row = data.view.rows[k],
            view = data.view;
        const law = row.law ? h("p", {}, h("strong", {}, row.law.name), ": ", h("code", {}, row.law.text)) : null;
        const title = k === view.chosen ? `Row ${k}, the chosen one` : `Row ${k}`;
        const top = [
            h("h3", {}, title),
            ceql.formula(row.math),
            h("pre", {}, h("code", {}, `${data.target} = ${row.text}`)),
            codeTools(data, row),
            law,
            numbersOf(row),
            h("h4", {}, "Where to be careful"),
            careful(row),
        ];
        if (!ceql.canRun(row.program)) {
            return h(
                "div",
                { class: "details" },
                top,
                h("p", { class: "soft" }, "This formula has a part that cannot be drawn here."),
            );
        }
        const model = evaluator(data, row);
        const charts = [
            fitChart(data, model),
            residualChart(data, model),
            ...row.used.map((index) => sliceChart(data, row, model, index)),
        ];
        const left =
            view.drawn < view.there
                ? h(
                      "p",
                      { class: "soft" },
                      `${view.drawn.toLocaleString("en")} of ${view.there.toLocaleString("en")} rows are drawn; the numbers are for all rows.`,
                  )
                : null;
        return h(
            "div",
            { class: "details" },
            top,
            h("h4", {}, "Constants"),
            ceql.sliders(row, model, () => charts.forEach((chart) => chart.show())),
            h("h4", {}, "Fit, residuals and beyond the data"),
            h(
                "div",
                { class: "charts" },
                charts.map((chart) => chart.element),
            ),
            left,
        );
    };
})();
