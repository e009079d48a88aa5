// Axes: limits, round numbers for their labels, and positions of values along them.
"use strict";

(() => {
    function quantile(sorted, share) {
        const place = share * (sorted.length - 1),
            low = Math.floor(place),
            high = Math.ceil(place);
        return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
    }

    // The limits of an axis: all values, unless a few near a pole would squeeze the others into a line.
    ceql.shownRange = (values, margin = 0.06) => {
        const finite = Float64Array.from(values).filter(Number.isFinite).sort();
        if (!finite.length) return [-1, 1];
        const low = quantile(finite, 0.03),
            high = quantile(finite, 0.97),
            reach = 1.5 * (high - low);
        let first = finite[0],
            last = finite[finite.length - 1];
        if (reach > 0) {
            first = Math.max(first, low - reach);
            last = Math.min(last, high + reach);
        }
        const room = margin * (last - first) || 0.1 * Math.abs(first) || 1;
        return [first - room, last + room];
    };

    function written(value, step) {
        if (value === 0) return "0";
        const exponentOf = (x) => Math.floor(Math.log10(Math.abs(x)) + 1e-9);
        const decimals = Math.max(0, -exponentOf(step));
        if (Math.abs(value) >= 1e6 || decimals > 5) {
            const digits = Math.max(0, exponentOf(value) - exponentOf(step));
            return value.toExponential(Math.min(digits, 20)).replace("e+", "e").replaceAll("-", "−");
        }
        return value.toFixed(decimals).replaceAll("-", "−");
    }

    function roundNumbers(low, high, most) {
        const rough = (high - low) / most,
            size = 10 ** Math.floor(Math.log10(rough));
        const step = size * [1, 2, 5, 10].find((factor) => factor * size >= 0.999 * rough);
        const ticks = [];
        for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9) && ticks.length < 50; k++) {
            ticks.push([k * step, written(k * step, step)]);
        }
        return ticks;
    }

    function decades(low, high) {
        const first = Math.ceil(Math.log10(low) - 1e-9),
            last = Math.floor(Math.log10(high) + 1e-9);
        if (last - first < 1) return roundNumbers(low, high, 4).filter(([value]) => value > 0);
        const step = Math.max(1, Math.ceil((last - first) / 6)),
            ticks = [];
        for (let k = first; k <= last; k += step)
            ticks.push([
                10 ** k,
                Math.abs(k) < 4 ? String(Number((10 ** k).toPrecision(1))) : `1e${k}`.replace("-", "−"),
            ]);
        return ticks;
    }

    // A linear axis, or a logarithmic one for positive values.
    ceql.axis = (low, high, label, log = false) => {
        const share = log
            ? (value) => Math.log(value / low) / Math.log(high / low)
            : (value) => (value - low) / (high - low);
        return {
            low,
            high,
            label,
            log,
            share,
            ticks: (most = 5) => (log ? decades(low, high) : roundNumbers(low, high, most)),
        };
    };

    // The limits of a logarithmic axis for these values, or null if none of them is positive.
    ceql.logRange = (values, margin = 0.04) => {
        const logs = Float64Array.from(values)
            .filter((v) => v > 0 && Number.isFinite(v))
            .map(Math.log10)
            .sort();
        if (!logs.length) return null;
        const room = Math.max(0.05, margin * (logs[logs.length - 1] - logs[0]));
        return [10 ** (logs[0] - room), 10 ** (logs[logs.length - 1] + room)];
    };
})();
