// Constants that differ between groups: their values, their table, and the choice of the group to adjust.
"use strict";

(() => {
    const { h, number } = ceql;
    const COLOURS = 6, // colours for groups in the style sheet
        MOST_NAMED = 24; // in a legend

    const median = (values) => {
        const sorted = Float64Array.from(values).sort(),
            middle = sorted.length >> 1;
        return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    };

    // The groups of a row, or null if it has none. `values` are their current constants.
    ceql.groupsOf = (data, row) => {
        if (!row.groups) return null;
        const { labels, own, index } = row.groups,
            codes = data.columns.get(index).data;
        const rows = labels.map(() => []);
        codes.forEach((code, k) => rows[code].push(k));
        const state = { ...row.groups, codes, rows, shown: 0, values: row.groups.values.map((one) => [...one]) };
        const medians = new Map();
        // The median of an input within a group.
        state.median = (code, column) => {
            const key = `${code}:${column}`;
            if (!medians.has(key)) {
                const all = data.columns.get(column).data,
                    mine = rows[code].map((k) => all[k]);
                medians.set(key, median(mine.length ? mine : all));
            }
            return medians.get(key);
        };
        // The constants for each row of the table, taken from its group; below, those of one group.
        state.ofRows = () => own.map((_, j) => Float64Array.from(codes, (code) => state.values[code][j]));
        state.ofGroup = (code) => state.values[code];
        state.changed = () => state.values.some((one, k) => one.some((value, j) => value !== row.groups.values[k][j]));
        return state;
    };

    ceql.colourOf = (code) => `g${code % COLOURS}`;

    ceql.legend = (groups) => [
        `By ${groups.column}: `,
        groups.labels
            .slice(0, MOST_NAMED)
            .map((label, code) => [h("span", { class: `swatch ${ceql.colourOf(code)}` }), `${label} `]),
        groups.labels.length > MOST_NAMED ? `and ${groups.labels.length - MOST_NAMED} more. ` : "· ",
    ];

    // A table of the constants of all groups with their errors.
    ceql.groupsTable = (groups) => {
        if (!groups.own.length) return h("p", {}, `All groups of ${groups.column} share all constants.`);
        const error = (value) => (value === null ? "not determined by the data" : `± ${number(value, 2)}`);
        const lines = groups.labels.map((label, k) =>
            h(
                "tr",
                {},
                h("th", { scope: "row" }, label),
                groups.own.map((_, j) => [
                    h("td", {}, number(groups.values[k][j], 8)),
                    h("td", {}, error(groups.errors[k][j])),
                ]),
            ),
        );
        const names = groups.own.flatMap((name) => [name, "standard error"]);
        return ceql.table("constants of-groups", [groups.column, ...names], h("tbody", {}, lines));
    };

    // A menu for the group whose constants the sliders change; `choose` is called with its number.
    ceql.groupPicker = (groups, choose) => {
        const select = h(
            "select",
            { "aria-label": `Group of ${groups.column}`, class: "group", onchange: () => choose(Number(select.value)) },
            groups.labels.map((label, k) => h("option", { value: k }, label)),
        );
        return h("p", { class: "buttons" }, h("label", {}, `Change the constants of ${groups.column} `, select));
    };
})();
