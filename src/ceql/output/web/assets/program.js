// Runs the instructions of a formula. Each step [operation, operands, payload] writes one slot; a slot is one number,
// or one number for each row. Where a formula has no real value, the result is NaN.
"use strict";

(() => {
    const FUNCTIONS = {
        square: (u) => u * u,
        cube: (u) => u * u * u,
        log: Math.log,
        sqrt: Math.sqrt,
        exp: Math.exp,
        sin: Math.sin,
        cos: Math.cos,
        tan: Math.tan,
        asin: Math.asin,
        acos: Math.acos,
        atan: Math.atan,
        sinh: Math.sinh,
        cosh: Math.cosh,
        tanh: Math.tanh,
        cbrt: Math.cbrt,
        abs: Math.abs,
    };

    function wholePower(base, exponent) {
        let result = 1,
            first = true,
            square = base;
        for (let left = exponent; left; left >>= 1) {
            if (left & 1) {
                result = first ? square : result * square;
                first = false;
            }
            if (left > 1) square *= square;
        }
        return result;
    }

    function each(rows, operands, combine) {
        if (operands.every((u) => typeof u === "number")) return combine(operands);
        const values = new Float64Array(rows),
            given = new Array(operands.length);
        for (let k = 0; k < rows; k++) {
            for (let j = 0; j < given.length; j++)
                given[j] = typeof operands[j] === "number" ? operands[j] : operands[j][k];
            values[k] = combine(given);
        }
        return values;
    }

    const STEPS = {
        add: () => (u) => u.reduce((sum, v) => sum + v),
        multiply: () => (u) => u.reduce((product, v) => product * v, 1),
        divide: () => (u) => u[0] / u[1],
        integer_power: (k) => (u) => wholePower(u[0], k),
        real_power: (k) => (u) => Math.pow(u[0], k),
        power: () => (u) => Math.pow(u[0], u[1]),
        function: (name) => (u) => FUNCTIONS[name](u[0]),
    };

    // Whether every step can be run here; user-defined operators may be unknown.
    ceql.canRun = (program) =>
        program !== null &&
        program.every(
            ([operation, , payload]) =>
                ["input", "parameter", "constant"].includes(operation) ||
                (Object.hasOwn(STEPS, operation) && (operation !== "function" || Object.hasOwn(FUNCTIONS, payload))),
        );

    // The values at `rows` rows; `column` returns the values of an input, one number or one for each row.
    ceql.run = (program, column, parameters, rows) => {
        const slots = [];
        for (const [operation, operands, payload] of program) {
            if (operation === "input") slots.push(column(payload));
            else if (operation === "parameter") slots.push(parameters[payload]);
            else if (operation === "constant") slots.push(payload);
            else
                slots.push(
                    each(
                        rows,
                        operands.map((k) => slots[k]),
                        STEPS[operation](payload),
                    ),
                );
        }
        const last = slots[slots.length - 1];
        return typeof last === "number" ? new Float64Array(rows).fill(last) : last;
    };
})();
