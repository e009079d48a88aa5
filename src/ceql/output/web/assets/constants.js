// The constants of a formula with their errors and units, each with a slider and a box.
"use strict";

(() => {
    const { h, number } = ceql;

    // One constant: its value and error, a slider and a number box; `changed` is called when one of them is used.
    function constantLine(constant, changed) {
        const reach = Math.max(0.5 * Math.abs(constant.value), 5 * (constant.error || 0)) || 1;
        const ends = { min: constant.value - reach, max: constant.value + reach };
        const slider = h("input", {
            type: "range",
            ...ends,
            step: "any",
            value: constant.now,
            "aria-label": constant.name,
        });
        const box = h("input", {
            type: "number",
            step: "any",
            value: constant.now,
            "aria-label": `Value of ${constant.name}`,
        });
        const take = (value, from) => {
            if (!Number.isFinite(value)) return;
            if (from !== box) box.value = String(Number(value.toPrecision(8)));
            if (from !== slider) slider.value = String(value);
            changed(value);
        };
        slider.addEventListener("input", () => take(slider.valueAsNumber, slider));
        box.addEventListener("input", () => take(box.valueAsNumber, box));
        const meaning = constant.meaning ? h("small", {}, h("br"), constant.meaning) : null;
        const unit = constant.unit ? h("small", {}, ` ${constant.unit}`) : null;
        const made = constant.made_of ? h("small", {}, h("br"), `= ${constant.made_of}`.replace("= ≈", "≈")) : null;
        const error = constant.error === null ? "not determined by the data" : `± ${number(constant.error, 2)}`;
        const element = h(
            "tr",
            {},
            h("th", { scope: "row" }, constant.name, meaning),
            h("td", {}, number(constant.value, 8), unit, made),
            h("td", {}, error),
            h("td", { class: "slide" }, slider),
            h("td", {}, box),
        );
        return { element, reset: () => take(constant.value, null) };
    }

    function howChanged(row, model) {
        if (!model.changed) return "";
        const gaps = model.undefined ? `; undefined in ${model.undefined} rows` : "";
        return (
            `Constants changed: RMSE of the rows drawn is ${number(model.rmse)} now, ${number(row.rmse)} as fitted${gaps}. ` +
            "Poles are marked only for the fitted constants."
        );
    }

    // The constants of a group in the same form as the others; `set` takes a changed value.
    function ownConstants(row, model) {
        const { groups } = model,
            code = groups.shown;
        return groups.own.map((name, j) => ({
            name: `${name}[${groups.labels[code]}]`,
            value: row.groups.values[code][j],
            error: row.groups.errors[code][j],
            now: groups.values[code][j],
            set: (value) => {
                groups.values[code][j] = value;
            },
        }));
    }

    function adjusted(row, model) {
        const shared = row.constants.map((constant, k) => ({
            ...constant,
            now: model.constants[k],
            set: (value) => {
                model.constants[k] = value;
            },
        }));
        return [...shared, ...(model.groups ? ownConstants(row, model) : [])];
    }

    // Sliders for all constants; `redraw` is called when one was changed.
    ceql.sliders = (row, model, redraw) => {
        const { groups } = model,
            hasOwn = groups && groups.own.length;
        if (!row.constants.length && !hasOwn)
            return h("p", { class: "soft" }, "This formula has no decimal constants.");
        const note = h("p", { class: "soft", "aria-live": "polite" });
        let waiting = 0;
        const refresh = () => {
            waiting = 0;
            model.refresh();
            note.textContent = howChanged(row, model);
            redraw();
        };
        const later = () => {
            waiting = waiting || requestAnimationFrame(refresh);
        };
        const body = h("tbody");
        let lines = [];
        const fill = () => {
            lines = adjusted(row, model).map((constant) =>
                constantLine(constant, (value) => {
                    constant.set(value);
                    later();
                }),
            );
            ceql.replace(
                body,
                lines.map((line) => line.element),
            );
        };
        fill();
        const asFitted = () => {
            if (groups) groups.values = row.groups.values.map((one) => [...one]);
            lines.forEach((line) => line.reset());
        };
        const reset = h("button", { type: "button", class: "small", onclick: asFitted }, "As fitted");
        const names = ["constant", "value", "standard error", "change", ""];
        const choose = (code) => {
            groups.shown = code;
            fill();
            redraw();
        };
        return [
            row.named ? ceql.formula(row.named) : null,
            groups ? ceql.groupsTable(row.groups) : null,
            hasOwn ? ceql.groupPicker(groups, choose) : null,
            ceql.table("constants", names, body),
            h("div", { class: "buttons" }, reset),
            note,
        ];
    };
})();
