// The report with scripts: the static parts about one row are replaced by parts that can show any row.
"use strict";

(() => {
    const view = JSON.parse(document.getElementById("ceql-view").textContent);
    const data = ceql.dataOf(view);
    const place = document.getElementById("ceql-live");
    const explorer = ceql.explorer(data, { row: view.shown });
    ceql.replace(place, ceql.h("h2", {}, "The front"), explorer.element);
    document.documentElement.classList.add("scripted");
    for (const block of document.querySelectorAll("pre.copied")) {
        block.after(
            ceql.h(
                "div",
                { class: "buttons" },
                ceql.copyButton("Copy", () => block.textContent),
            ),
        );
    }
})();
