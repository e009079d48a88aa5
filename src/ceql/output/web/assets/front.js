// The front: a chart and a table of all formulas, with one shown in full, or two side by side.
"use strict";

(() => {
    const { h, number } = ceql;
    const FRONT_ROOM = 0.09; // at both ends of the losses, for the ring around a point

    // Losses for a logarithmic axis: zeros are drawn just below the smallest positive loss.
    function drawable(losses) {
        const positive = losses.filter((loss) => loss > 0),
            least = positive.length ? Math.min(...positive) : 1;
        return losses.map((loss) => (loss > 0 ? loss : Math.min(1e-32, 0.01 * least)));
    }

    // A chart of rows { complexity, loss, text }; the first `front` are the front, and `marked()` is the marked one.
    ceql.frontChart = (rows, front, marked, choose) => {
        const sizes = () => rows().map((row) => row.complexity),
            losses = () => drawable(rows().map((row) => row.loss ?? NaN));
        return ceql.chart(
            "Complexity and loss",
            () => {
                const x = sizes(),
                    y = losses(),
                    last = front(),
                    row = marked();
                const all = ceql.logRange(y, FRONT_ROOM) || [0.1, 1],
                    steps = { x: [], y: [] };
                for (let k = 0; k < last; k++) {
                    if (k) {
                        steps.x.push(x[k]);
                        steps.y.push(y[k - 1]);
                    }
                    steps.x.push(x[k]);
                    steps.y.push(y[k]);
                }
                const layer = (from, to, more) => ({
                    type: "points",
                    x: x.slice(from, to),
                    y: y.slice(from, to),
                    choose: (k) => choose(from + k),
                    tell: (k) => {
                        const one = rows()[from + k];
                        return [
                            `${ceql.nodes(one.complexity)}, loss ${number(one.loss)}`,
                            one.text.length > 60 ? `${one.text.slice(0, 59)}…` : one.text,
                        ];
                    },
                    ...more,
                });
                return {
                    x: [0, Math.max(5, Math.max(...x, 0) * 1.08 + 1)],
                    y: all,
                    xLabel: "complexity, nodes",
                    yLabel: "loss",
                    layers: [
                        { type: "line", kind: "step", ...steps },
                        layer(last, x.length, { hollow: true }),
                        layer(0, last, { kind: "points large" }),
                        ...(row >= 0 && row < x.length ? [{ type: "ring", kind: "ring", at: [x[row], y[row]] }] : []),
                    ],
                };
            },
            { yLog: true, noLogX: true, tallest: 280 },
        );
    };

    function columnsOf(view) {
        const has = (name) => view.rows.some((row) => row[name] !== null && row[name] !== undefined);
        return [
            ["nodes", (row) => row.complexity],
            ["loss", (row) => number(row.loss, 3)],
            ...(has("r2") ? [["R²", (row) => ceql.share(row.r2)]] : []),
            ...(has("r2_cv") ? [["R² held out", (row) => ceql.share(row.r2_cv)]] : []),
            ...(has("weight") ? [["weight", (row) => ceql.weight(row.weight)]] : []),
        ];
    }

    // R² as text; values near zero are shown as 0.
    ceql.share = (value) =>
        value === null || value === undefined ? "" : Math.abs(value) < 5e-5 ? "0" : number(value, 5);

    ceql.weight = (value) =>
        value === null || value === undefined ? "" : value > 0 && value < 0.005 ? "< 0.01" : value.toFixed(2);

    function struckOf(view) {
        if (!view.struck.length) return null;
        const title = view.struck.length === 1 ? "1 formula was struck" : `${view.struck.length} formulas were struck`;
        const items = view.struck.map((one) => h("li", {}, h("code", {}, one.text), h("br"), one.why));
        return h(
            "details",
            {},
            h("summary", {}, title),
            h(
                "p",
                { class: "soft" },
                "They fit, but claim something that no row shows or determines, so they may not be chosen.",
            ),
            h("ul", { class: "struck" }, items),
        );
    }

    const HINT =
        "Choose a row with a click, or with the arrow keys and Enter; tick another (or press c) to see two side by side. ★ is the row that ceql chose.";

    // The front, and below it the details of one row, or of two.
    class Explorer {
        constructor(data, options) {
            const { view } = data;
            Object.assign(this, { data, view, options, row: options.row ?? view.shown, other: options.other ?? -1 });
            this.columns = columnsOf(view);
            this.pane = h("div", { class: "panes" });
            this.lines = view.rows.map((row, k) => this.line(row, k));
            this.chart = ceql.frontChart(
                () => view.rows,
                () => view.front,
                () => this.row,
                (k) => this.take(k),
            );
            const doubt = view.doubt ? h("p", { class: "outcome" }, view.doubt) : null;
            this.element = h(
                "div",
                { class: "explorer" },
                doubt,
                this.chart.element,
                this.table(this.lines.slice(0, view.front)),
                this.others(),
                struckOf(view),
                h("p", { class: "soft no-print" }, HINT),
                this.pane,
            );
            this.choose(this.row, this.other);
        }

        line(row, k) {
            const isChosen = k === this.view.chosen,
                quiet = (event) => event.stopPropagation();
            const compare = h("input", {
                type: "checkbox",
                "aria-label": `Show row ${k} beside the chosen one`,
                onclick: quiet,
                onchange: () => this.choose(this.row, compare.checked ? k : -1),
            });
            const line = h(
                "tr",
                { tabindex: -1, "data-row": k, onclick: () => this.take(k), onkeydown: (event) => this.keys(event, k) },
                h(
                    "td",
                    {},
                    h("span", { class: "badge", title: isChosen ? "the chosen row" : null }, isChosen ? "★" : ""),
                    k,
                ),
                h(
                    "td",
                    {},
                    h("label", { class: "compare", title: "Show beside the chosen one", onclick: quiet }, compare),
                ),
                this.columns.map(([name, cell]) => h("td", { "data-name": name }, cell(row))),
                h(
                    "td",
                    { class: "words" },
                    h("code", {}, row.text),
                    row.law ? [h("br"), h("small", {}, row.law.name)] : null,
                ),
            );
            return { line, compare };
        }

        table(some) {
            const names = ["row", "beside", ...this.columns.map(([name]) => name), "formula"];
            return ceql.table(
                "front",
                names,
                h(
                    "tbody",
                    {},
                    some.map((one) => one.line),
                ),
            );
        }

        others() {
            const { front, chosen } = this.view,
                some = this.lines.slice(front);
            if (!some.length) return null;
            const title = `${some.length} more compete beside the front; none of them is the best of its size`;
            return h(
                "details",
                { class: "others", open: Math.max(this.row, this.other, chosen) >= front },
                h("summary", {}, title),
                this.table(some),
            );
        }

        keys(event, k) {
            const { line } = this.lines[k],
                next = this.lines[k + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || NaN)];
            if (event.target !== line) return;
            if (next) next.line.focus();
            else if (event.key === "Enter" || event.key === " ") this.take(k);
            else if (event.key === "c" && k !== this.row) this.choose(this.row, this.other === k ? -1 : k);
            else return;
            event.preventDefault();
        }

        // Shows this row and keeps the other one beside it.
        take(k) {
            this.choose(k, this.other);
        }

        choose(row, other) {
            this.row = row;
            this.other = other === row ? -1 : other;
            this.lines.forEach(({ line, compare }, k) => {
                line.classList.toggle("chosen", k === this.row);
                line.classList.toggle("second", k === this.other);
                line.setAttribute("aria-current", String(k === this.row));
                line.tabIndex = k === this.row ? 0 : -1;
                compare.checked = k === this.other;
                compare.disabled = k === this.row;
            });
            this.pane.classList.toggle("two", this.other >= 0);
            ceql.replace(
                this.pane,
                ceql.details(this.data, this.row),
                this.other >= 0 ? ceql.details(this.data, this.other) : null,
            );
            this.chart.show();
            if (this.options.chosen) this.options.chosen(this.row, this.other);
        }
    }

    // Options: the first `row` to show, the `other` beside it, and `chosen`, which is called with every choice.
    ceql.explorer = (data, options = {}) => new Explorer(data, options);
})();
