// A chart of layers, drawn as SVG at the available width; its points respond to hovering and to the arrow keys.
"use strict";

(() => {
    const { h, svg, number } = ceql;
    const LEFT = 70,
        RIGHT = 14,
        TOP = 12,
        BOTTOM = 46,
        NEAR = 28;
    const ON_PAPER = { beside: 340, alone: 690 }; // widths in print, where charts of one formula are side by side
    const FIRST_WIDTH = 480,
        LEAST_HEIGHT = 230,
        MOST_HEIGHT = 400; // first width: until the real one is known; heights: limits for all charts

    const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
    const at = (value) => value.toFixed(1);

    function limitsOf(layers, side, log, given) {
        if (!log || given[0] > 0) return given;
        const values = layers.flatMap((layer) => (layer[side] ? Array.from(layer[side]) : []));
        return ceql.logRange(values.filter((v) => v > 0)) || null;
    }

    function pathOf(layer, place) {
        let path = "",
            open = false;
        for (let k = 0; k < layer.x.length; k++) {
            const [left, top] = place(layer.x[k], layer.y[k]);
            const drawn = Number.isFinite(left) && Number.isFinite(top);
            if (drawn) path += `${open ? "L" : "M"}${at(left)} ${at(top)}`;
            open = drawn;
        }
        return path;
    }

    function drawPoints(layer, place, across, up, targets) {
        let dots = "",
            marks = "",
            hollow = [];
        for (let k = 0; k < layer.x.length; k++) {
            const [left, top] = place(layer.x[k], layer.y[k]);
            if (Number.isNaN(left) || Number.isNaN(top)) continue;
            const inside = left >= -0.5 && left <= across + 0.5 && top >= -0.5 && top <= up + 0.5;
            const a = Math.min(Math.max(left, inside ? 0 : 5), inside ? across : across - 5);
            const b = Math.min(Math.max(top, inside ? 0 : 5), inside ? up : up - 5);
            if (!inside) marks += `M${at(a)} ${at(b - 4)}l4 7h-8z`;
            else if (layer.hollow)
                hollow.push(svg("circle", { class: `hollow ${layer.kind || ""}`, cx: at(a), cy: at(b), r: 5 }));
            else dots += `M${at(a)} ${at(b)}h0`;
            if (layer.tell) targets.push({ left: a, top: b, layer, k });
        }
        return [
            dots && svg("path", { class: layer.kind || "points", d: dots }),
            ...hollow,
            marks && svg("path", { class: "beyond", d: marks }),
        ].filter(Boolean);
    }

    function drawLayer(layer, x, y, across, up, targets) {
        const place = (a, b) => [x.share(a) * across, (1 - y.share(b)) * up];
        if (layer.type === "points") return drawPoints(layer, place, across, up, targets);
        if (layer.type === "line") return [svg("path", { class: layer.kind, d: pathOf(layer, place) || "M0 0" })];
        if (layer.type === "band") {
            const [left, right] = [layer.low, layer.high].map(
                (v) => Math.min(Math.max(x.log && v <= 0 ? 0 : x.share(v), 0), 1) * across,
            );
            return [
                svg("rect", { class: layer.kind, x: at(left), y: 0, width: at(Math.max(0, right - left)), height: up }),
            ];
        }
        if (layer.type === "vertical") {
            const left = x.share(layer.at) * across;
            return Number.isFinite(left) && left >= 0 && left <= across
                ? [svg("path", { class: layer.kind, d: `M${at(left)} 0V${up}` })]
                : [];
        }
        const [left, top] = place(layer.at[0], layer.at[1]);
        return Number.isFinite(left + top)
            ? [svg("circle", { class: layer.kind, cx: at(left), cy: at(top), r: 9 })]
            : [];
    }

    function grid(x, y, across, up) {
        const parts = [],
            most = Math.max(2, Math.floor(across / 75));
        for (const [value, text] of x.ticks(Math.min(most, 7))) {
            const left = at(LEFT + x.share(value) * across);
            parts.push(
                svg("path", { class: "grid", d: `M${left} ${TOP}v${up}` }),
                svg("text", { x: left, y: TOP + up + 16, "text-anchor": "middle" }, text),
            );
        }
        for (const [value, text] of y.ticks(5)) {
            const top = TOP + (1 - y.share(value)) * up;
            parts.push(
                svg("path", { class: "grid", d: `M${LEFT} ${at(top)}h${across}` }),
                svg("text", { x: LEFT - 6, y: at(top + 4), "text-anchor": "end" }, text),
            );
        }
        parts.push(
            svg(
                "text",
                { class: "label", x: LEFT + across / 2, y: TOP + up + 38, "text-anchor": "middle" },
                cut(x.label, Math.floor(across / 7)),
            ),
            svg(
                "text",
                { class: "label", transform: `translate(14 ${TOP + up / 2}) rotate(-90)`, "text-anchor": "middle" },
                cut(y.label, 40),
            ),
        );
        return parts;
    }

    // A copy of a drawing with the colours of the style sheet written into it, so that it can be saved by itself.
    function standalone(drawing) {
        const copy = drawing.cloneNode(true);
        const from = [drawing, ...drawing.querySelectorAll("*")],
            to = [copy, ...copy.querySelectorAll("*")];
        from.forEach((element, k) => {
            const style = getComputedStyle(element);
            for (const name of [
                "fill",
                "stroke",
                "stroke-width",
                "stroke-dasharray",
                "stroke-linecap",
                "stroke-opacity",
                "font-size",
                "font-family",
            ]) {
                to[k].setAttribute(name, style.getPropertyValue(name));
            }
        });
        const { width, height } = drawing.viewBox.baseVal;
        copy.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
        copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
        copy.setAttribute("width", width);
        copy.setAttribute("height", height);
        return new XMLSerializer().serializeToString(copy);
    }

    class Chart {
        constructor(title, draw, options) {
            Object.assign(this, {
                title,
                draw,
                options,
                width: 0,
                targets: [],
                focus: -1,
                xLog: false,
                yLog: Boolean(options.yLog),
            });
            this.frame = h("div", {
                class: "drawing",
                tabindex: 0,
                role: "group",
                "aria-label": `${title}. Arrow keys walk through its points.`,
            });
            this.tip = h("div", { class: "tip", hidden: true, role: "status" });
            this.caption = h("figcaption", {});
            this.element = h(
                "figure",
                { class: "live" },
                this.tools(),
                h("div", { class: "holder" }, this.frame, this.tip),
                this.caption,
            );
            this.listen();
        }

        tools() {
            const { options } = this;
            const save = h(
                "button",
                {
                    type: "button",
                    class: "small",
                    title: "Save this picture as an SVG file",
                    onclick: () => this.save(),
                },
                "Save picture",
            );
            return h(
                "div",
                { class: "tools" },
                h("strong", {}, this.title),
                options.tools || null,
                options.noLogX ? null : this.toggle("log x", "xLog"),
                options.noLogY ? null : this.toggle("log y", "yLog"),
                save,
            );
        }

        toggle(name, side) {
            const box = h("input", {
                type: "checkbox",
                onchange: () => {
                    this[side] = box.checked;
                    this.show();
                },
            });
            box.checked = this[side];
            return h("label", {}, box, name);
        }

        save() {
            const name = `${this.title.replace(/[^\w]+/g, "-").slice(0, 40)}.svg`;
            ceql.download(name, new Blob([standalone(this.frame.querySelector("svg"))], { type: "image/svg+xml" }));
        }

        // Draws the chart again with its current data and size.
        show() {
            const width = this.onPaper || this.width || FIRST_WIDTH;
            const height = Math.round(
                Math.min(Math.max(0.62 * width, LEAST_HEIGHT), this.options.tallest || MOST_HEIGHT),
            );
            const across = width - LEFT - RIGHT,
                up = height - TOP - BOTTOM,
                content = this.draw();
            const x = this.axis(content, "x"),
                y = this.axis(content, "y");
            this.targets = [];
            const inside = content.layers.flatMap((layer) => drawLayer(layer, x, y, across, up, this.targets));
            this.frame.replaceChildren(
                svg(
                    "svg",
                    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.title },
                    grid(x, y, across, up),
                    svg("svg", { x: LEFT, y: TOP, width: across, height: up, viewBox: `0 0 ${across} ${up}` }, inside),
                    svg("rect", { class: "frame", x: LEFT, y: TOP, width: across, height: up }),
                ),
            );
            if (content.caption !== undefined) ceql.replace(this.caption, content.caption);
            this.leave();
        }

        // The axis of a side: logarithmic if that is chosen and some value is positive.
        axis(content, side) {
            const log = this[`${side}Log`],
                ends = limitsOf(content.layers, side, log, content[side]);
            return ceql.axis(...(ends || content[side]), content[`${side}Label`], log && ends !== null);
        }

        // Marks a point and shows its numbers beside it.
        point(target) {
            this.frame.querySelector(".hovered")?.remove();
            if (!target) return this.leave();
            const { frame, tip } = this,
                width = this.width || FIRST_WIDTH;
            frame
                .querySelector("svg")
                .append(svg("circle", { class: "hovered", cx: LEFT + target.left, cy: TOP + target.top, r: 6 }));
            ceql.replace(
                tip,
                target.layer.tell(target.k).map((line) => h("div", {}, line)),
            );
            tip.hidden = false;
            const scale = frame.clientWidth / width,
                isRight = target.left > 0.55 * width;
            tip.style.left = isRight ? "" : `${(LEFT + target.left + 12) * scale}px`;
            tip.style.right = isRight ? `${frame.clientWidth - (LEFT + target.left - 12) * scale}px` : "";
            tip.style.top = `${(TOP + target.top) * scale}px`;
        }

        leave() {
            this.tip.hidden = true;
            this.focus = -1;
            this.frame.querySelector(".hovered")?.remove();
        }

        nearest(event) {
            const box = this.frame.getBoundingClientRect(),
                scale = (this.width || FIRST_WIDTH) / (box.width || 1);
            const left = (event.clientX - box.left) * scale - LEFT,
                top = (event.clientY - box.top) * scale - TOP;
            const away = (target) => Math.hypot(target.left - left, target.top - top);
            const near = this.targets.filter((target) => away(target) < NEAR);
            return near.length ? near.reduce((best, target) => (away(target) < away(best) ? target : best)) : null;
        }

        choose(target) {
            if (target && target.layer.choose) target.layer.choose(target.k);
        }

        keys(event) {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key],
                count = this.targets.length;
            const inOrder = [...this.targets].sort((a, b) => a.left - b.left || a.k - b.k);
            if (step && count) {
                event.preventDefault();
                const next = this.focus < 0 ? (step > 0 ? 0 : count - 1) : (this.focus + step + count) % count;
                this.point(inOrder[next]);
                this.focus = next;
            } else if (event.key === "Enter" && this.focus >= 0) {
                this.choose(inOrder[this.focus]);
            }
        }

        listen() {
            const { frame } = this;
            frame.addEventListener("pointermove", (event) => this.point(this.nearest(event)));
            frame.addEventListener("pointerleave", () => this.leave());
            frame.addEventListener("blur", () => this.leave());
            frame.addEventListener("click", (event) => this.choose(this.nearest(event)));
            frame.addEventListener("keydown", (event) => this.keys(event));
            new ResizeObserver(() => {
                const width = Math.round(frame.clientWidth);
                if (width && width !== this.width) {
                    this.width = width;
                    this.show();
                }
            }).observe(frame);
            frame.addEventListener("ceql-print", ({ detail }) => {
                this.onPaper = detail ? (frame.closest(".charts") ? ON_PAPER.beside : ON_PAPER.alone) : 0;
                this.show();
            });
        }
    }

    // Charts are redrawn at their width on paper before printing, so that their text keeps its size.
    const printing = (begins) => () =>
        document
            .querySelectorAll(".drawing")
            .forEach((frame) => frame.dispatchEvent(new CustomEvent("ceql-print", { detail: begins })));
    window.addEventListener("beforeprint", printing(true));
    window.addEventListener("afterprint", printing(false));

    // `draw` returns { x: [low, high], y: [low, high], xLabel, yLabel, layers } and optionally a caption. Options:
    // `tools` above the chart, `tallest`, `yLog` to start logarithmic, and `noLogX` and `noLogY` to offer no such axis.
    ceql.chart = (title, draw, options = {}) => new Chart(title, draw, options);

    // The curve clipped a little outside the limits, with gaps where it jumps across the picture, as at a pole.
    ceql.inPieces = (y, [low, high]) => {
        const reach = high - low,
            pieces = y.map((v) => (Number.isFinite(v) ? Math.min(Math.max(v, low - reach), high + reach) : NaN));
        for (let k = 0; k + 1 < y.length; k++) {
            if ((y[k] > high && y[k + 1] < low) || (y[k] < low && y[k + 1] > high)) pieces[k] = NaN;
        }
        return pieces;
    };
})();
