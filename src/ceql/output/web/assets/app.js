// The page of `ceql app`. Its state is in the address after #, so that it is restored when the page is reloaded.
"use strict";

(() => {
    const { h, number } = ceql;
    const $ = (id) => document.getElementById(id);
    const MOST_LISTED = 6; // number of formulas listed below the best while a search runs
    const page = {
        about: null,
        table: null,
        choice: null,
        run: null,
        events: null,
        shown: "",
        explorer: null,
        live: null,
        fold: null,
    };

    // ---- talking to the server -----------------------------------------------------------------------------------

    async function ask(path, options = {}) {
        let answer;
        try {
            answer = await fetch(`api/${path}`, options);
        } catch {
            throw new Error("ceql app does not answer: has it been ended in its terminal?");
        }
        const content = await answer.json().catch(() => ({ error: `The answer cannot be read (${answer.status}).` }));
        if (!answer.ok) {
            const refusal = new Error(content.error || `The request failed (${answer.status}).`);
            throw Object.assign(refusal, { table: content.table });
        }
        return content;
    }

    const tell = (path, content) =>
        ask(path, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(content || {}),
        });

    function problem(error) {
        $("problem").hidden = !error;
        $("problem").textContent = error ? error.message || String(error) : "";
        if (error) $("problem").scrollIntoView({ block: "nearest" });
    }

    // Wraps a step so that its errors are shown on the page.
    const attempt =
        (step) =>
        async (...given) => {
            try {
                problem(null);
                return await step(...given);
            } catch (error) {
                problem(error);
                return null;
            }
        };

    function place(changes) {
        const known = new URLSearchParams(location.hash.slice(1));
        for (const [name, value] of Object.entries(changes)) {
            if (value === null) known.delete(name);
            else known.set(name, value);
        }
        history.replaceState(null, "", `#${known}`);
    }

    // ---- the table -----------------------------------------------------------------------------------------------

    function source() {
        const input = h("input", {
            type: "file",
            id: "file",
            accept: ".csv,.tsv,.txt,.dat,.parquet,.xlsx,.npz",
            class: "hidden-input",
            onchange: () => {
                if (input.files[0]) upload(input.files[0]);
                input.value = "";
            },
        });
        const zone = h(
            "label",
            { class: "drop", for: "file" },
            h("strong", {}, "Drop a table here, or choose a file"),
            h(
                "span",
                { class: "soft" },
                `CSV, TSV, text, Parquet, Excel or .npz, at most ${page.about.largest / 2 ** 20} MiB. It stays on this machine.`,
            ),
            input,
        );
        const examples = page.about.examples.map(({ name, words }) =>
            h(
                "button",
                {
                    type: "button",
                    class: "small",
                    title: words,
                    onclick: attempt(async () => open(await tell(`examples/${encodeURIComponent(name)}`))),
                },
                name,
            ),
        );
        ceql.replace($("source"), zone, h("p", { class: "buttons" }, "Or an example: ", examples));
    }

    const upload = attempt(async (file) => {
        if (file.size > page.about.largest)
            throw new Error(
                `${file.name} is too large: at most ${page.about.largest / 2 ** 20} MiB are accepted. Use ceql fit for it.`,
            );
        $("source").classList.add("busy");
        try {
            await opened(ask(`tables?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }));
        } finally {
            $("source").classList.remove("busy");
        }
    });

    // Shows a table when it arrives, or asks for its layout if it cannot be read.
    async function opened(coming) {
        try {
            open(await coming);
        } catch (error) {
            if (error.table) askLayout(error.table);
            throw error;
        }
    }

    const readAnew = (table) => attempt(async (layout) => opened(tell(`tables/${table.id}/layout`, layout)));

    function askLayout(table) {
        follow(null);
        page.table = table;
        place({ table: table.id, run: null, row: null, beside: null });
        session();
        const form = ceql.layoutForm(table.layout, readAnew(table));
        form.open = true;
        ceql.replace($("columns"), h("h2", {}, table.name), form);
        $("columns").hidden = false;
        $("source").classList.add("compact");
    }

    function open(table, wish = null) {
        page.table = table;
        page.choice = {
            target: wish ? wish.target : table.target,
            leaveOut: new Set(wish ? wish.leave_out : []),
            operators: wish ? wish.operators : [],
            timeLimit: wish ? wish.time_limit : 60,
            maxComplexity: wish ? wish.max_complexity : null,
            catalogue: wish ? wish.catalogue : true,
            select: wish ? wish.select : "best",
            seed: wish ? wish.seed : 0,
            dropGaps: wish ? wish.drop_gaps : true,
            groups: wish ? wish.groups : "",
            perGroup: wish ? wish.per_group : "auto",
            units: wish ? { ...wish.units } : {},
            useUnits: wish ? Object.keys(wish.units).length > 0 : false,
            constants: wish ? wish.constants : "any",
            canUnits: page.about.units,
        };
        if (!wish) {
            follow(null);
            place({ table: table.id, run: null, row: null, beside: null });
        }
        session();
        const form = ceql.searchForm(page.about, table, page.choice);
        const go = h(
            "button",
            {
                type: "button",
                class: "main",
                id: "start",
                onclick: attempt(async () => {
                    begin(await tell("runs", { table: table.id, wish: form.wish() }));
                }),
            },
            "Find a formula",
        );
        const update = () => {
            go.disabled = !page.choice.target;
            go.textContent = page.choice.target ? `Find a formula for ${page.choice.target}` : "Choose a target";
        };
        const notes = table.notes.map((note) => h("li", {}, note));
        const title = h(
            "summary",
            {},
            h(
                "h2",
                {},
                table.name,
                h(
                    "small",
                    { class: "soft" },
                    ` ${table.rows.toLocaleString("en")} rows, ${table.columns.length} columns`,
                ),
            ),
        );
        page.fold = h(
            "details",
            { class: "fold", open: !wish },
            title,
            notes.length ? h("ul", { class: "soft" }, notes) : null,
            ceql.columnsTable(table, page.choice, update, form.useUnits),
            ceql.layoutForm(table.layout || {}, readAnew(table)),
            form.element,
            h("div", { class: "buttons" }, go),
        );
        ceql.replace($("columns"), page.fold);
        update();
        $("columns").hidden = false;
        $("source").classList.add("compact");
        document.title = `${table.name} · ceql`;
    }

    function session() {
        const { tables, runs } = page.about;
        const known = new Map(tables.map((one) => [one.id, one.name]));
        if (page.table) known.set(page.table.id, page.table.name);
        const entries = [...known].map(([id, name]) =>
            h(
                "a",
                {
                    href: `#table=${id}`,
                    "aria-current": page.table && page.table.id === id && !page.run ? "true" : null,
                },
                name,
            ),
        );
        const searches = runs.map((run) =>
            h(
                "a",
                { href: `#run=${run.id}`, "aria-current": page.run === run.id ? "true" : null },
                `${run.id}: ${run.name}, ${run.target}`,
            ),
        );
        ceql.replace(
            $("session"),
            entries,
            searches.length ? h("span", { class: "soft" }, " searches: ") : null,
            searches,
        );
    }

    // ---- the search ----------------------------------------------------------------------------------------------

    function begin(run) {
        if (!page.about.runs.some((one) => one.id === run.id))
            page.about.runs.push({ id: run.id, table: run.table, name: run.name, target: run.wish.target });
        place({ run: run.id, table: null, row: null, beside: null });
        follow(run);
        session();
        page.fold.open = false;
        $("search").scrollIntoView({ block: "start" });
    }

    function follow(run) {
        if (page.events) page.events.close();
        Object.assign(page, { events: null, run: run ? run.id : null, shown: "", explorer: null, live: null });
        for (const id of ["search", "result"]) {
            $(id).hidden = true;
            $(id).replaceChildren();
        }
        if (!run) return;
        page.live = new LiveSearch(run);
        show(run);
        listen(run.id);
    }

    function listen(id) {
        page.events = new EventSource(`api/runs/${id}/events`);
        page.events.addEventListener("message", (event) => {
            const run = JSON.parse(event.data);
            if (run.id !== page.run) return;
            show(run);
            if (["done", "failed"].includes(run.state)) page.events.close();
        });
    }

    const words = (run) => {
        const { progress, result } = run;
        if (run.state === "starting") return "Starting…";
        if (run.state === "done")
            return `${result.sentence} (${number(result.seconds, 3)} s, ${result.starts.toLocaleString("en")} starts)`;
        if (run.state === "failed") return run.why;
        const parts = [
            run.state === "stopping" ? "Stopping: saving what was found" : "Searching",
            progress.starts ? `${progress.starts.toLocaleString("en")} starts` : "",
            progress.message || "",
        ];
        return `${parts.filter(Boolean).join(", ")}…`;
    };

    const isActive = (run) => ["starting", "running", "stopping"].includes(run.state);

    // A running search: buttons, its progress in words, and the growing front.
    class LiveSearch {
        constructor(run) {
            this.rows = [];
            this.stop = h(
                "button",
                { type: "button", id: "stop", onclick: attempt(() => tell(`runs/${run.id}/stop`)) },
                "Stop",
            );
            this.resume = h("button", { type: "button", id: "resume", onclick: attempt(() => goOn(run.id)) }, "Go on");
            this.said = h("p", { class: "outcome", id: "status", role: "status" });
            this.bar = h("progress", { max: 1, "aria-label": "Time used" });
            this.notes = h("ul", { class: "soft" });
            this.best = h("div", { id: "best" });
            this.text = h("p", { class: "soft", hidden: true }, "The best structure so far: ", h("code"));
            this.list = h("ol", { class: "glimpses" });
            this.chart = ceql.frontChart(
                () => this.rows,
                () => this.rows.length,
                () => this.rows.findIndex((one) => one.best),
                () => {},
            );
            this.growing = h("div", { class: "growing" }, this.best, this.chart.element, this.list);
            const title = h(
                "h2",
                {},
                `Search for ${run.wish.target}`,
                h("small", { class: "soft" }, ` in ${run.name}, at most ${number(run.wish.time_limit, 4)} s`),
            );
            ceql.replace(
                $("search"),
                title,
                h("div", { class: "buttons" }, this.stop, this.resume),
                this.said,
                this.bar,
                this.notes,
                this.text,
                this.growing,
            );
            $("search").hidden = false;
        }

        show(run) {
            const active = isActive(run),
                front = run.progress.front || [];
            this.stop.hidden = !active;
            this.stop.textContent = run.state === "stopping" ? "Stop at once" : "Stop";
            this.resume.hidden = active || !run.result.can_go_on;
            this.said.textContent = words(run);
            this.said.classList.toggle("problem", run.state === "failed");
            this.bar.hidden = !active;
            this.bar.value = Math.min(1, (run.progress.seconds || 0) / (run.progress.limit || 1));
            const notes = [...run.notes, ...(run.why && run.state === "done" ? [run.why] : [])];
            ceql.replace(
                this.notes,
                notes.map((note) => h("li", {}, note)),
            );
            this.growing.hidden = !active || !front.length;
            this.text.hidden = !active || !run.progress.formula;
            this.text.firstElementChild.textContent = run.progress.formula || "";
            if (active && front.length && JSON.stringify(front) !== JSON.stringify(this.rows)) this.grow(front);
        }

        grow(front) {
            this.rows = front;
            const best = front.find((one) => one.best) || front[front.length - 1];
            const others = front.filter((one) => one !== best).reverse();
            ceql.replace(
                this.best,
                h("p", { class: "soft" }, "The best so far, not finished yet:"),
                ceql.formula(best.math),
            );
            ceql.replace(
                this.list,
                others
                    .slice(0, MOST_LISTED)
                    .map((one) =>
                        h(
                            "li",
                            {},
                            h("span", { class: "soft" }, `${ceql.nodes(one.complexity)}, loss ${number(one.loss, 3)} `),
                            h("code", {}, one.text),
                        ),
                    ),
            );
            this.chart.show();
        }
    }

    async function goOn(id) {
        show(await tell(`runs/${id}/resume`));
        listen(id);
    }

    function show(run) {
        page.live.show(run);
        const known = page.about.runs.find((one) => one.id === run.id);
        if (known) known.state = run.state;
        const finished = run.result.formula && !isActive(run);
        const stamp = finished ? `${run.id}:${run.result.seconds}:${run.result.starts}` : "";
        if (finished && page.shown !== stamp) {
            page.shown = stamp;
            results(run);
        }
    }

    // ---- the result ----------------------------------------------------------------------------------------------

    const results = attempt(async (run) => {
        const view = await ask(`runs/${run.id}/view`);
        if (page.run !== run.id) return;
        const known = new URLSearchParams(location.hash.slice(1)),
            inside = (name, otherwise) => {
                const row = Number(known.get(name) ?? NaN);
                return Number.isInteger(row) && row >= 0 && row < view.rows.length ? row : otherwise;
            };
        const data = ceql.dataOf(view);
        const link = (words, href) => h("a", { class: "button", href, download: true }, words);
        const report = link("Report", `api/runs/${run.id}/report`);
        const exports = h(
            "div",
            { class: "buttons exports" },
            h("strong", {}, "Take away:"),
            link("Model", `api/runs/${run.id}/model`),
            report,
            link("Table", `api/tables/${run.table}/file`),
            view.command ? ceql.copyButton("Copy the command", () => view.command) : null,
            view.python ? ceql.copyButton("Copy the Python lines", () => view.python) : null,
        );
        const again = h(
            "details",
            {},
            h("summary", {}, "The command that repeats this run"),
            h("pre", { id: "command" }, h("code", {}, view.command || view.no_command)),
            view.python ? h("pre", {}, h("code", {}, view.python)) : null,
        );
        const predict = ceql.predictionsPanel(
            run.wish.target,
            (file, level) => {
                const asked = new URLSearchParams({ name: file.name, row: page.explorer.row, level });
                return ask(`runs/${run.id}/predictions?${asked}`, { method: "POST", body: file });
            },
            attempt,
        );
        ceql.replace($("result"), h("h2", {}, "The front"), exports, again, predict.element);
        page.explorer = ceql.explorer(data, {
            row: inside("row", view.chosen),
            other: inside("beside", -1),
            chosen: (row, other) => {
                place({ row: row === view.chosen ? null : row, beside: other < 0 ? null : other });
                report.setAttribute("href", `api/runs/${run.id}/report?row=${row}`);
                if (page.explorer) predict.again();
            },
        });
        $("result").append(page.explorer.element);
        $("result").hidden = false;
    });

    // ---- the beginning -------------------------------------------------------------------------------------------

    const start = attempt(async () => {
        page.about = await ask("about");
        source();
        session();
        const known = new URLSearchParams(location.hash.slice(1)),
            id = known.get("run");
        if (id) {
            const run = await ask(`runs/${encodeURIComponent(id)}`);
            open(await ask(`tables/${encodeURIComponent(run.table)}`), run.wish);
            follow(run);
            session();
        } else if (known.get("table")) {
            await opened(ask(`tables/${encodeURIComponent(known.get("table"))}`));
        }
    });

    for (const name of ["dragover", "drop"]) {
        document.addEventListener(name, (event) => {
            event.preventDefault();
            document.body.classList.toggle("dragging", name === "dragover");
            if (name === "drop" && event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
        });
    }
    document.addEventListener("dragleave", () => document.body.classList.remove("dragging"));
    window.addEventListener("hashchange", start);
    start();
})();
