// Predictions for the rows of another file, with bounds for a new measurement.
"use strict";

(() => {
    const { h, number } = ceql;
    const LEVELS = [
        ["0.95", "95 % bounds"],
        ["0.99", "99 % bounds"],
        ["0.68", "68 % bounds"],
        ["", "no bounds"],
    ];

    function shown(answer, name) {
        const cell = (value) => (typeof value === "number" ? number(value, 6) : value);
        const line = (cells) => h("tr", {}, cells.map((value) => h("td", {}, cell(value))));
        const left = answer.rows - answer.first.length;
        return [
            h("h4", {}, `The rows of ${name}`),
            ceql.table("predicted", answer.columns, h("tbody", {}, answer.first.map(line))),
            left > 0 ? h("p", { class: "soft" }, `and ${left.toLocaleString("en")} more rows in the file`) : null,
            answer.notes.length ? h("ul", { class: "caveats" }, answer.notes.map((note) => h("li", {}, note))) : null,
            h(
                "div",
                { class: "buttons" },
                h(
                    "button",
                    {
                        type: "button",
                        id: "save-predictions",
                        onclick: () => ceql.download(answer.name, new Blob([answer.csv], { type: "text/csv" })),
                    },
                    "Save the predictions",
                ),
            ),
        ];
    }

    // The panel for predictions. `ask(file, level)` returns the server's answer, and `attempt` runs a step and shows
    // its errors. Call `again` when another formula is used for predictions.
    ceql.predictionsPanel = (target, ask, attempt) => {
        let file = null,
            asked = 0;
        const answer = h("div", { "aria-live": "polite" });
        const level = h(
            "select",
            { id: "level", "aria-label": "Bounds for a new measurement", onchange: () => again() },
            LEVELS.map(([value, words]) => h("option", { value }, words)),
        );
        const again = attempt(async () => {
            if (!file) return;
            const mine = ++asked;
            ceql.replace(answer, h("p", { class: "soft" }, `Predicting the rows of ${file.name}…`));
            let found = null;
            try {
                found = await ask(file, level.value);
            } finally {
                if (mine === asked) ceql.replace(answer, found ? shown(found, file.name) : null);
            }
        });
        const take = (chosen) => {
            if (!chosen) return;
            file = chosen;
            again();
        };
        const input = h("input", {
            type: "file",
            id: "new-rows",
            class: "hidden-input",
            accept: ".csv,.tsv,.txt,.dat,.parquet,.xlsx,.npz",
            onchange: () => {
                take(input.files[0]);
                input.value = "";
            },
        });
        const element = h(
            "details",
            { id: "predictions" },
            h("summary", {}, "Predict new rows"),
            h(
                "p",
                { class: "soft" },
                `Drop a table here that has the columns of the formula: the row shown below predicts ${target} for each of its rows.`,
            ),
            h(
                "div",
                { class: "buttons" },
                h("label", { class: "button", for: "new-rows" }, "Choose a file", input),
                level,
            ),
            answer,
        );
        element.addEventListener("drop", (event) => {
            event.preventDefault();
            event.stopPropagation(); // the file is not a new table for a search
            document.body.classList.remove("dragging");
            take(event.dataTransfer.files[0]);
        });
        return { element, again };
    };
})();
