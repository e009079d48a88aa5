// A table before the search: its source, its columns with a small plot each, and the settings of the search.
"use strict";

(() => {
    const { h, svg, number } = ceql;
    const NO_UNITS = "pip install 'ceql[units]' makes units readable";
    const WIDE = 132,
        HIGH = 44,
        BARS = 18;

    function histogram(values) {
        const there = values.filter((v) => v !== null),
            low = Math.min(...there),
            high = Math.max(...there);
        const counts = new Array(BARS).fill(0);
        for (const v of there) counts[Math.min(BARS - 1, Math.floor(((v - low) / (high - low || 1)) * BARS))] += 1;
        const most = Math.max(...counts, 1),
            step = WIDE / BARS;
        return counts.map((count, k) =>
            svg("rect", {
                class: "bar",
                x: (k * step + 0.5).toFixed(1),
                width: (step - 1).toFixed(1),
                y: (HIGH - (count / most) * HIGH).toFixed(1),
                height: ((count / most) * HIGH).toFixed(1),
            }),
        );
    }

    function scatter(values, target) {
        const pairs = values.map((v, k) => [v, target[k]]).filter(([a, b]) => a !== null && b !== null);
        const ends = (k) => ceql.shownRange(pairs.map((pair) => pair[k]));
        const [x, y] = [ceql.axis(...ends(0), ""), ceql.axis(...ends(1), "")];
        const dots = pairs
            .map(([a, b]) => [x.share(a), y.share(b)])
            .filter(([a, b]) => a >= 0 && a <= 1 && b >= 0 && b <= 1)
            .map(([a, b]) => `M${(3 + a * (WIDE - 6)).toFixed(1)} ${(3 + (1 - b) * (HIGH - 6)).toFixed(1)}h0`)
            .join("");
        return [svg("path", { class: "points little", d: dots || "M0 0" })];
    }

    function smallPlot(column, target) {
        if (!column.values.length) return null;
        const isTarget = !target || target.name === column.name || !target.values.length;
        const words = isTarget
            ? `how the values of ${column.name} are spread`
            : `${target.name} against ${column.name}`;
        return svg(
            "svg",
            { class: "small-plot", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words },
            svg("title", {}, words),
            isTarget ? histogram(column.values) : scatter(column.values, target.values),
        );
    }

    function kindOf(column) {
        if (column.kind !== "numbers") return column.why;
        return column.why || (column.whole ? "whole numbers" : "numbers");
    }

    function unitBox(column, state, changed) {
        if (column.kind !== "numbers") return null;
        const box = h("input", {
            type: "text",
            class: "unit",
            value: state.units[column.name] ?? column.unit,
            placeholder: state.canUnits ? "unit" : "",
            title: state.canUnits ? "such as mm or m/s^2; 1 for a number without a unit" : NO_UNITS,
            "aria-label": `unit of ${column.name}`,
            disabled: !state.canUnits,
            oninput: () => {
                state.units[column.name] = box.value;
                changed();
            },
        });
        return box;
    }

    // One column as cells; `choose` makes it the target, and `use` makes it an input or not.
    function columnLine(column, target, isUsed, choose, use, unit) {
        const isUsable = column.kind === "numbers",
            isTarget = isUsable && target === column;
        const radio = h("input", {
            type: "radio",
            name: "target",
            value: column.name,
            "aria-label": `${column.name} is the target`,
            disabled: !isUsable,
            onchange: choose,
        });
        const box = h("input", {
            type: "checkbox",
            "aria-label": `use ${column.name}`,
            disabled: !isUsable || isTarget,
            onchange: () => use(box.checked),
        });
        radio.checked = isTarget;
        box.checked = isUsable && !isTarget && isUsed;
        const range = isUsable ? `${number(column.low)} to ${number(column.high)}` : "";
        return h(
            "tr",
            { class: isTarget ? "chosen" : isUsable ? "" : "idle" },
            h("td", { class: "words name" }, column.name || "(no name)"),
            h("td", { "data-name": "target" }, radio),
            h("td", { "data-name": "use" }, box),
            h("td", { class: "words" }, kindOf(column)),
            h("td", {}, unit),
            h("td", { "data-name": "gaps" }, column.gaps || ""),
            h("td", {}, range),
            h("td", {}, isUsable ? smallPlot(column, target) : null),
        );
    }

    // A table of the columns to choose from. `state` has target, leaveOut and units; `changed` is called after every
    // choice, and `typed` when a unit is entered.
    ceql.columnsTable = (table, state, changed, typed) => {
        const body = h("tbody");
        const use = (column, isUsed) => {
            if (isUsed) state.leaveOut.delete(column.name);
            else state.leaveOut.add(column.name);
            changed();
        };
        const choose = (column) => {
            state.target = column.name;
            use(column, true);
            fill();
        };
        const fill = () => {
            const target = table.columns.find((column) => column.kind === "numbers" && column.name === state.target);
            ceql.replace(
                body,
                table.columns.map((column) =>
                    columnLine(
                        column,
                        target,
                        !state.leaveOut.has(column.name),
                        () => choose(column),
                        (isUsed) => use(column, isUsed),
                        unitBox(column, state, typed),
                    ),
                ),
            );
        };
        fill();
        return ceql.table("columns", ["column", "target", "use", "kind", "unit", "gaps", "range", "against the target"], body);
    };

    const FIELDS = [
        ["separator", "Separator", ", ; | tab or space"],
        ["decimal", "Decimal mark", ". or ,"],
        ["encoding", "Encoding", "utf-8, latin-1"],
        ["skip", "Lines above the header", "0"],
        ["names", "Names of the columns, by commas", "where there is no header"],
        ["sheet", "Sheet of a workbook", "the first"],
        ["missing_marks", "Marks of missing values, by commas", "such as -999"],
    ];

    const listed = (text) =>
        text
            .split(",")
            .map((part) => part.trim())
            .filter(Boolean);

    // A form for the layout of the file, if it is not recognised.
    ceql.layoutForm = (layout, read) => {
        const boxes = Object.fromEntries(
            FIELDS.map(([name, , hint]) => [
                name,
                h("input", { type: "text", placeholder: hint, value: String([].concat(layout[name] ?? "").join(",")) }),
            ]),
        );
        const apply = () =>
            read({
                separator: boxes.separator.value,
                decimal: boxes.decimal.value.trim(),
                encoding: boxes.encoding.value.trim(),
                sheet: boxes.sheet.value.trim(),
                skip: Math.max(0, Math.round(Number(boxes.skip.value) || 0)),
                names: listed(boxes.names.value),
                missing_marks: listed(boxes.missing_marks.value),
            });
        return h(
            "details",
            { class: "layout" },
            h("summary", {}, "How the file is laid out"),
            h("p", { class: "soft" }, "The layout is detected; correct it here if that went wrong."),
            h(
                "div",
                { class: "fields" },
                FIELDS.map(([name, words]) => h("label", {}, words, boxes[name])),
            ),
            h("div", { class: "buttons" }, h("button", { type: "button", onclick: apply }, "Read the file again")),
        );
    };

    const RULES = [
        ["best", "best: by the noise-aware criterion"],
        ["cv", "cv: the simplest that held-out rows cannot tell from the best"],
        ["score", "score: the steepest gain per node"],
        ["accuracy", "accuracy: the lowest loss"],
    ];

    const OWN = [
        ["auto", "found out"],
        ["1", "one"],
        ["2", "two"],
        ["3", "three"],
        ["none", "none: they are only held out together"],
    ];

    // Fields for the column of group labels, and for how many constants each group has of its own.
    function groupFields(table, state) {
        const named = table.columns.filter((column) => column.name);
        const column = h(
            "select",
            { id: "groups", onchange: () => follow() },
            h("option", { value: "" }, "no groups"),
            named.map(({ name }) => h("option", { value: name }, name)),
        );
        const own = h(
            "select",
            { id: "per-group" },
            OWN.map(([value, words]) => h("option", { value }, words)),
        );
        column.value = state.groups;
        own.value = state.perGroup;
        const second = h("label", {}, "Constants that differ between groups", own);
        const follow = () => {
            second.hidden = !column.value;
        };
        follow();
        return {
            element: [h("label", {}, "Groups of rows, by the labels in", column), second],
            groups: () => column.value,
            perGroup: () => own.value,
        };
    }

    // Fields for whether formulas must be consistent with units, and which units constants may have.
    function unitFields(state) {
        const box = h("input", { type: "checkbox", id: "units", disabled: !state.canUnits });
        box.checked = state.useUnits;
        const constants = h("input", {
            type: "text",
            id: "unit-constants",
            list: "kinds-of-constants",
            value: state.constants,
            title: "any, dimensionless, physics, names such as c,G or values such as g=9.81 m/s^2",
        });
        const second = h("label", {}, "Constants with units", constants);
        const kinds = ["any", "dimensionless", "physics", "g=9.81 m/s^2"].map((value) => h("option", { value }));
        const follow = () => {
            second.hidden = !box.checked;
        };
        box.addEventListener("change", follow);
        follow();
        return {
            element: [
                h("label", { class: "check", title: state.canUnits ? null : NO_UNITS }, box, "formulas fit the units"),
                second,
                h("datalist", { id: "kinds-of-constants" }, kinds),
            ],
            use: () => {
                box.checked = true;
                follow();
            },
            isUsed: () => box.checked,
            constants: () => constants.value,
        };
    }

    // The units of the used columns as entered in the boxes.
    function unitsOf(table, state, groups) {
        const used = table.columns.filter(
            ({ name, kind }) =>
                kind === "numbers" && name !== groups && (name === state.target || !state.leaveOut.has(name)),
        );
        const pairs = used.map((column) => [column.name, (state.units[column.name] ?? column.unit ?? "").trim()]);
        return Object.fromEntries(pairs.filter(([, unit]) => unit));
    }

    // A form for the settings of the search; `wish()` returns them as the server expects them.
    ceql.searchForm = (about, table, state) => {
        const time = h("input", { type: "number", min: 1, max: 86400, step: "any", value: state.timeLimit });
        const most = h("input", {
            type: "number",
            min: 1,
            max: 10000,
            step: 1,
            value: state.maxComplexity ?? "",
            placeholder: "any",
        });
        const seed = h("input", { type: "number", min: 0, step: 1, value: state.seed });
        const tick = (on) => {
            const box = h("input", { type: "checkbox" });
            box.checked = on;
            return box;
        };
        const groups = groupFields(table, state),
            units = unitFields(state);
        const laws = tick(state.catalogue),
            gaps = tick(state.dropGaps),
            chosen = new Set(state.operators);
        const rule = h(
            "select",
            {},
            RULES.map(([value, words]) => h("option", { value }, words)),
        );
        rule.value = state.select;
        const boxes = about.operators.map(({ name, words }) => {
            const box = tick(chosen.has(name));
            box.addEventListener("change", () => {
                if (box.checked) chosen.add(name);
                else chosen.delete(name);
                tell();
            });
            return h("label", { title: words }, box, name);
        });
        const told = h("span", { class: "soft" });
        const tell = () => {
            told.textContent = chosen.size
                ? `only ${[...chosen].join(", ")}; sums and constants are always there`
                : "the default ones";
        };
        tell();
        const wish = () => ({
            target: state.target,
            leave_out: [...state.leaveOut],
            operators: [...chosen],
            time_limit: time.valueAsNumber,
            max_complexity: most.value ? most.valueAsNumber : null,
            catalogue: laws.checked,
            select: rule.value,
            seed: seed.valueAsNumber,
            drop_gaps: gaps.checked,
            groups: groups.groups(),
            per_group: groups.perGroup(),
            units: units.isUsed() ? unitsOf(table, state, groups.groups()) : {},
            constants: units.isUsed() ? units.constants() : "any",
        });
        const element = [
            h(
                "div",
                { class: "fields" },
                h("label", {}, "Time limit, seconds", time),
                h("label", { class: "check" }, laws, "named laws compete (catalogue)"),
                table.gaps
                    ? h(
                          "label",
                          { class: "check" },
                          gaps,
                          `leave out the rows with gaps (${table.gaps} of ${table.rows})`,
                      )
                    : null,
            ),
            h("div", { class: "fields" }, groups.element, units.element),
            h("details", {}, h("summary", {}, "Operators: ", told), h("div", { class: "operators" }, boxes)),
            h(
                "details",
                {},
                h("summary", {}, "More choices"),
                h(
                    "div",
                    { class: "fields" },
                    h("label", {}, "The most nodes of a formula", most),
                    h("label", {}, "Which row is chosen", rule),
                    h("label", {}, "Seed", seed),
                ),
            ),
        ];
        return { element, wish, useUnits: units.use };
    };
})();
