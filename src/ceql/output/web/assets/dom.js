// Makes elements from plain text: nothing from a table or a formula is ever read as markup or executed.
"use strict";
const ceql = {};

(() => {
    const SVG = "http://www.w3.org/2000/svg",
        MATH = "http://www.w3.org/1998/Math/MathML";
    // The elements that a typeset formula may consist of.
    const MATH_NAMES = new Set([
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mfrac",
        "msup",
        "msub",
        "msubsup",
        "msqrt",
        "mroot",
        "mfenced",
        "mtext",
        "mover",
        "munder",
        "mstyle",
        "mspace",
        "mpadded",
    ]);
    const MATH_ATTRIBUTES = new Set(["form", "stretchy", "mathvariant", "open", "close", "separators", "displaystyle"]);

    function add(element, children) {
        for (const child of children.flat(Infinity)) {
            if (child === null || child === undefined || child === false) continue;
            element.append(child instanceof Node ? child : String(child));
        }
        return element;
    }

    // Makes an HTML element: `on...` are listeners, others are attributes, and true is an attribute without a value.
    ceql.h = (name, attributes, ...children) => {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes || {})) {
            if (value === null || value === undefined || value === false) continue;
            if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
            else if (key === "value") element.value = value;
            else element.setAttribute(key, value === true ? "" : String(value));
        }
        return add(element, children);
    };

    ceql.svg = (name, attributes, ...children) => {
        const element = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, String(value));
        return add(element, children);
    };

    function mathElement(tree) {
        const [name, attributes, ...children] = tree;
        const element = document.createElementNS(MATH, MATH_NAMES.has(name) ? name : "mrow");
        for (const [key, value] of Object.entries(attributes)) {
            if (MATH_ATTRIBUTES.has(key)) element.setAttribute(key, value);
        }
        for (const child of children) element.append(Array.isArray(child) ? mathElement(child) : String(child));
        return element;
    }

    // A formula in pieces, between which lines may break.
    ceql.formula = (pieces) =>
        ceql.h(
            "div",
            { class: "formula" },
            pieces.map((tree) => [ceql.h("span", {}, mathElement(tree)), " "]),
        );

    // A table that scrolls if it is too wide, with these names as column headings.
    ceql.table = (kind, names, body) => {
        const head = names.map((name) => ceql.h("th", { scope: "col" }, name));
        const table = ceql.h("table", { class: kind }, ceql.h("thead", {}, ceql.h("tr", {}, head)), body);
        return ceql.h("div", { class: "scroll" }, table);
    };

    ceql.replace = (element, ...children) => {
        element.replaceChildren();
        return add(element, children);
    };

    // A short number with a true minus sign.
    ceql.number = (value, digits = 4) => {
        if (value === null || value === undefined || Number.isNaN(value)) return "";
        if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
        const size = Math.abs(value);
        const plain = size === 0 || (size >= 1e-4 && size < 10 ** Math.max(digits, 4));
        const text = plain
            ? String(Number(value.toPrecision(digits)))
            : value
                  .toExponential(digits - 1)
                  .replace(/\.?0+e/, "e")
                  .replace("e+", "e");
        return text.replaceAll("-", "−");
    };

    ceql.nodes = (count) => (count === 1 ? "1 node" : `${count} nodes`);

    ceql.unpack = (text) => {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        return new Float64Array(bytes.buffer);
    };

    async function toClipboard(text) {
        try {
            await navigator.clipboard.writeText(text);
        } catch {
            // no clipboard access: a page opened from a file, or a browser that does not allow it
            const area = ceql.h("textarea", { value: text, class: "off-screen" });
            document.body.append(area);
            area.select();
            document.execCommand("copy");
            area.remove();
        }
    }

    // A button that copies the result of `text()` when it is pressed, and confirms it.
    ceql.copyButton = (label, text) => {
        const button = ceql.h("button", { type: "button", class: "small" }, label);
        button.addEventListener("click", async () => {
            await toClipboard(text());
            button.textContent = "Copied";
            setTimeout(() => {
                button.textContent = label;
            }, 1200);
        });
        return button;
    };

    ceql.download = (name, blob) => {
        const link = ceql.h("a", { href: URL.createObjectURL(blob), download: name });
        document.body.append(link);
        link.click();
        link.remove();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
})();
