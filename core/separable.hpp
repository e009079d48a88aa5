// Separable least squares: the weights of the model's last sum are solved at every step, so that
// Levenberg-Marquardt walks over the other parameters alone (variable projection, with Kaufman's Jacobian).
// Everything is done on the triangle R of a QR factorisation, into which the rows are folded block by block:
// J'J would square the condition number. Bounded weights and those that a penalty sees count as others.
#pragma once
#include "levenberg.hpp"

namespace ceql::CEQL_ISA {

// The upper triangle R of the columns folded into it so far; the last column is the residual.
struct Triangle {
    int columns, pitch;
    double *memory;
    double *row(int i) const { return memory + size_t(i) * pitch; }
    void clear() const { fill_zero(memory, size_t(columns) * pitch); }
};

inline Triangle take_triangle(Arena &arena, int columns) {
    const int pitch = round_up(columns, 8);
    return {columns, pitch, take<double>(arena, size_t(columns) * pitch)};
}

// What of a column is left after elimination and counts as rounding, relative to the column.
template <class T> constexpr double rounding_left = sizeof(T) == 8 ? 1e-12 : 1e-5;

template <class T> inline double dot(const T *a, const T *b, int n) {
    Lane<T> s = {};
    for (int i = 0; i < n; i += lane_count<T>)
        s += load<T>(a + i) * load<T>(b + i);
    return double(sum<T>(s));
}

// Four columns at once, so that the reflector is read once for all of them.
template <class T>
inline void reflect_four(double *r, double v0, double tau, const T *v, T *const *columns, int n) {
    constexpr int w = lane_count<T>;
    Lane<T> s[4] = {};
    for (int i = 0; i < n; i += w) {
        const Lane<T> x = load<T>(v + i);
        for (int u = 0; u < 4; ++u)
            s[u] += x * load<T>(columns[u] + i);
    }
    for (int u = 0; u < 4; ++u) {
        const double f = tau * (v0 * r[u] + double(sum<T>(s[u])));
        r[u] -= f * v0;
        s[u] = splat<T>(T(f));
    }
    for (int i = 0; i < n; i += w) {
        const Lane<T> x = load<T>(v + i);
        for (int u = 0; u < 4; ++u)
            store<T>(columns[u] + i, load<T>(columns[u] + i) - s[u] * x);
    }
}

// Householder reflections that fold n more rows into R; the columns of the rows are used up. In a staircase
// column j has no row below its own.
template <class T, bool staircase = false> void fold(const Triangle &r, T *const *columns, int n) {
    for (int j = 0; j < r.columns; ++j) {
        const int stair = round_up(j + 1, lane_count<T>), rows = staircase && stair < n ? stair : n;
        const T *v = columns[j];
        double *own = r.row(j);
        const double below = dot<T>(v, v, rows);
        if (below == 0.0)
            continue;
        const double size = std::sqrt(own[j] * own[j] + below), corner = own[j] > 0.0 ? -size : size;
        const double v0 = own[j] - corner, tau = 2.0 / (v0 * v0 + below);
        own[j] = corner;
        int k = j + 1;
        for (; k + 4 <= r.columns; k += 4)
            reflect_four<T>(own + k, v0, tau, v, columns + k, rows);
        for (; k < r.columns; ++k) {
            const double f = tau * (v0 * own[k] + dot<T>(v, columns[k], rows));
            own[k] -= f * v0;
            for (int i = 0; i < rows; i += lane_count<T>)
                store<T>(columns[k] + i, load<T>(columns[k] + i) - splat<T>(T(f)) * load<T>(v + i));
        }
    }
}

// Of the first `n_linear` columns, takes out those that the columns before them hold already, and makes R
// triangular again. `pivot` gets the row of each column, or -1. Returns the rank.
inline int settle(const Triangle &r, int n_linear, double tolerance, int32_t *pivot) {
    int top = 0, rank = 0;
    for (int j = 0; j < r.columns; ++j) {
        double above = 0.0, left = 0.0;
        for (int i = 0; i <= j; ++i)
            (i < top ? above : left) += r.row(i)[j] * r.row(i)[j];
        if (j < n_linear && left <= tolerance * tolerance * (above + left)) {
            pivot[j] = -1;
            continue;
        }
        if (top < j && left > 0.0) {
            double *head = r.row(top);
            const double size = std::sqrt(left), corner = head[j] > 0.0 ? -size : size, v0 = head[j] - corner;
            const double tau = 1.0 / (size * (size + std::fabs(head[j])));
            for (int k = j + 1; k < r.columns; ++k) {
                double f = v0 * head[k];
                for (int i = top + 1; i <= j; ++i)
                    f += r.row(i)[j] * r.row(i)[k];
                f *= tau;
                head[k] -= f * v0;
                for (int i = top + 1; i <= j; ++i)
                    r.row(i)[k] -= f * r.row(i)[j];
            }
            head[j] = corner;
        }
        pivot[j] = top++;
        rank += j < n_linear;
    }
    return rank;
}

template <class T> struct Separable {
    Fit<T> &fit;
    const Instruction *readout; // the model's last sum, or null
    int n_linear, n_others;
    int32_t *order, *pivot; // per column: its parameter, the weights of the readout first; its row in R
    T *memory;              // of a block, by parameter and then the residual
    T **column;             // the same in order
    const T *root_weight;
    Triangle full, weights; // with all columns, and with those of the weights alone
};

// A weight that enters linearly: all its edges lead to the readout, no penalty sees it and it has no bounds.
template <class T> bool is_linear(const Fit<T> &fit, const Instruction &readout, int parameter) {
    const Program<T> &p = fit.program;
    const uint64_t seen = p.n_outputs < 64 ? (uint64_t(1) << p.n_outputs) - 1 : ~uint64_t(0);
    if ((p.moved[parameter] & seen) != 1 || fit.lower[parameter] > -INFINITY ||
        fit.upper[parameter] < INFINITY)
        return false;
    for (int e = 0; e < p.n_edges; ++e)
        if (p.edges[e].parameter == parameter && (e < readout.first || e >= readout.last))
            return false;
    return true;
}

template <class T> Separable<T> separate(Fit<T> &fit, Arena &arena) {
    const Program<T> &p = fit.program;
    const int n = fit.n;
    Separable<T> s = {fit,
                      nullptr,
                      0,
                      0,
                      take<int32_t>(arena, n),
                      take<int32_t>(arena, n + 1),
                      nullptr,
                      take<T *>(arena, n + 1),
                      nullptr,
                      {},
                      {}};
    for (int i = 0; i < p.n_instructions; ++i)
        if (p.instructions[i].slot == p.outputs[0] && p.instructions[i].op == LINEAR)
            s.readout = &p.instructions[i];
    for (int k = 0; k < n && s.readout; ++k)
        if (is_linear<T>(fit, *s.readout, k))
            s.order[s.n_linear++] = k;
    for (int k = 0, next = 0; k < n; ++k) {
        if (next < s.n_linear && s.order[next] == k)
            ++next;
        else
            s.order[s.n_linear + s.n_others++] = k;
    }
    s.memory = take<T>(arena, size_t(n + 1) * block_size<T>);
    for (int j = 0; j < n; ++j)
        s.column[j] = s.memory + size_t(s.order[j]) * block_size<T>;
    s.column[n] = s.memory + size_t(n) * block_size<T>;
    T *root_weight = take<T>(arena, fit.data.padded);
    for (int64_t i = 0; i < fit.data.padded; ++i)
        root_weight[i] = std::sqrt(fit.data.weight[i]);
    s.root_weight = root_weight;
    s.full = take_triangle(arena, n + 1);
    s.weights = take_triangle(arena, s.n_linear + 1);
    return s;
}

// Folds in a row for every quadratic penalty on the parameters of R's columns; `at` has their values.
template <class T>
void fold_ridge(const Separable<T> &s, const Triangle &r, T *const *columns, const double *at) {
    const int count = r.columns - 1;
    int rows = 0;
    for (int j = 0; j <= count; ++j) {
        const bool last = j == count, counts = !last && s.fit.ridge[s.order[j]] != 0.0;
        if (rows > 0 && (last || rows == block_size<T>)) {
            fold<T>(r, columns, round_up(rows, lane_count<T>));
            rows = 0;
        }
        if (counts && rows == 0)
            for (int k = 0; k <= count; ++k)
                fill_zero(columns[k], block_size<T>);
        if (counts) {
            const double root = std::sqrt(s.fit.ridge[s.order[j]]);
            columns[j][rows] = T(root);
            columns[count][rows++] = T(root * at[s.order[j]]);
        }
    }
}

// The columns that the weights of the readout multiply, over one block.
template <class T> void fill_weight_columns(const Separable<T> &s, int64_t start, int n) {
    constexpr int w = lane_count<T>;
    const Program<T> &p = s.fit.program;
    for (int j = 0; j < s.n_linear; ++j) {
        bool begun = false;
        for (int e = s.readout->first; e < s.readout->last; ++e) {
            if (p.edges[e].parameter != s.order[j])
                continue;
            const T *x = p.value[p.edges[e].source], *rw = s.root_weight + start;
            const Lane<T> c = splat<T>(p.edges[e].coefficient);
            T *column = s.column[j];
            for (int i = 0; i < n; i += w) {
                const Lane<T> term = c * load<T>(rw + i) * load<T>(x + i);
                store<T>(column + i, begun ? load<T>(column + i) + term : term);
            }
            begun = true;
        }
    }
}

// The weights of the readout from a settled triangle, written into `params`.
template <class T> void solve_weights(const Separable<T> &s, double *params) {
    const int n = s.n_linear;
    for (int j = n - 1; j >= 0; --j) {
        if (s.pivot[j] < 0)
            continue;
        const double *row = s.weights.row(s.pivot[j]);
        double left = -row[n];
        for (int k = j + 1; k < n; ++k)
            left -= row[k] * params[s.order[k]];
        params[s.order[j]] = left / row[j];
    }
}

template <class T> void fill_residual(const Separable<T> &s, int64_t start, int n, const T *value) {
    const T *y = s.fit.data.y + start, *rw = s.root_weight + start;
    T *residual = s.column[s.fit.n];
    for (int i = 0; i < n; i += lane_count<T>)
        store<T>(residual + i, load<T>(rw + i) * (load<T>(value + i) - load<T>(y + i)));
}

// Solves the weights of the readout at the other parameters of `params` and writes them into it. The loss is
// the projection's: what the solved weights leave, before their own rounding.
template <class T> Loss project(const Separable<T> &s, double *params) {
    Fit<T> &fit = s.fit;
    Program<T> &p = fit.program;
    const int n_linear = s.n_linear;
    for (int j = 0; j < n_linear; ++j)
        params[s.order[j]] = 0.0;
    set_parameters<T>(p, params);
    T *const first_other = s.column[n_linear];
    s.weights.clear();
    double aux = 0.0;
    for (int64_t start = 0; start < fit.data.padded; start += block_size<T>) {
        const int n = enter_block<T>(p, fit.data, start);
        if (is_stopped<T>(fit))
            return {INFINITY, INFINITY};
        fit.one_block ? forward<T, true>(p, n) : forward<T, false>(p, n);
        fill_residual<T>(s, start, n, p.value[p.outputs[0]]);
        fill_weight_columns<T>(s, start, n);
        s.column[n_linear] = s.column[fit.n]; // the residual follows the weights here
        fold<T>(s.weights, s.column, n);
        s.column[n_linear] = first_other;
        for (int k = 1; k < p.n_outputs; ++k)
            aux += plain_squares<T>(p.value[p.outputs[k]], true_samples<T>(fit.data, start, n));
    }
    const double elsewhere = ridge_penalty<T>(fit, params) + fit.aux_weight * aux;
    s.column[n_linear] = s.column[fit.n];
    fold_ridge<T>(s, s.weights, s.column, params);
    s.column[n_linear] = first_other;
    settle(s.weights, n_linear, rounding_left<T>, s.pivot);
    solve_weights<T>(s, params);
    const double rest = s.weights.row(s.pivot[n_linear])[n_linear];
    double on_weights = 0.0;
    for (int j = 0; j < n_linear; ++j)
        on_weights += fit.ridge[s.order[j]] * params[s.order[j]] * params[s.order[j]];
    return {larger(rest * rest - on_weights, 0.0), rest * rest + elsewhere};
}

// Fills R with the Jacobian at `params`, where the model was projected last: a single block's values and
// derivatives are still there, but for the readout. Returns the row where the other parameters begin, or -1
// when stopped.
template <class T> int linearise(const Separable<T> &s, const double *params) {
    Fit<T> &fit = s.fit;
    Program<T> &p = fit.program;
    set_parameters<T>(p, params);
    s.full.clear();
    T *residual = s.column[fit.n];
    const T root_aux = T(std::sqrt(fit.aux_weight));
    for (int64_t start = 0; start < fit.data.padded; start += block_size<T>) {
        const int n = enter_block<T>(p, fit.data, start), n_true = true_samples<T>(fit.data, start, n);
        if (is_stopped<T>(fit))
            return -1;
        if (!fit.one_block)
            forward<T, true>(p, n);
        else if (s.n_linear > 0)
            forward_linear<T>(p, *s.readout, n);
        for (int k = 0; k < p.n_outputs; ++k) {
            const T *value = p.value[p.outputs[k]];
            T *seed = p.adjoint[p.outputs[k]];
            if (!seed || (k > 0 && !any_nonzero<T>(value, n_true)))
                continue;
            clear_adjoints<T>(p, uint64_t(1) << k, n);
            if (k == 0) {
                std::memcpy(seed, s.root_weight + start, n * sizeof(T));
                fill_residual<T>(s, start, n, value);
            } else {
                for (int i = 0; i < n; ++i) {
                    seed[i] = i < n_true ? root_aux : T(0);
                    residual[i] = seed[i] * value[i];
                }
            }
            backward_jacobian<T>(p, k, n, s.memory);
            fold<T>(s.full, s.column, n);
        }
    }
    fold_ridge<T>(s, s.full, s.column, params);
    return settle(s.full, s.n_linear, rounding_left<T>, s.pivot);
}

// ---- the damped step of the other parameters
// -------------------------------------------------------------------------------------------------------

struct Steps {
    Triangle damped; // the others' part of R with the damping folded in
    double **column; // the rows of the damping
    double *slope, *diagonal, *step;
    uint8_t *held;
};

template <class T> Steps take_steps(const Separable<T> &s, Arena &arena) {
    const int n = s.n_others, rows = round_up(n, 8);
    Steps steps = {take_triangle(arena, n + 1), take<double *>(arena, n + 1), take<double>(arena, n),
                   take<double>(arena, n),      take<double>(arena, n),       take<uint8_t>(arena, n)};
    double *memory = take<double>(arena, size_t(n + 1) * rows);
    for (int k = 0; k <= n; ++k)
        steps.column[k] = memory + size_t(k) * rows;
    return steps;
}

// Half the slope of the projected objective, the scales of the damping, and who stays at a bound. Returns
// false when a value is not finite.
template <class T> bool look(const Separable<T> &s, const double *params, int top, const Steps &steps) {
    const int n = s.n_others, shift = s.n_linear;
    double largest = 0.0;
    bool finite = true;
    for (int k = 0; k < n; ++k) {
        double slope = 0.0, square = 0.0;
        for (int i = 0; i <= k; ++i) {
            const double *row = s.full.row(top + i) + shift;
            slope += row[k] * row[n];
            square += row[k] * row[k];
        }
        steps.slope[k] = slope;
        steps.diagonal[k] = square;
        largest = larger(largest, square);
        finite = finite && is_finite(square) && is_finite(slope);
    }
    for (int k = 0; k < n; ++k) {
        const int p = s.order[shift + k];
        steps.diagonal[k] = scale_of(steps.diagonal[k], largest);
        steps.held[k] = is_held(params[p], s.fit.lower[p], s.fit.upper[p], steps.slope[k]);
    }
    return finite;
}

// The step that minimises |R22 step + z2|^2 + damping |step|^2 in the scales, by QR of the two on top of each
// other.
template <class T> bool solve(const Separable<T> &s, int top, double damping, const Steps &steps) {
    const int n = s.n_others, rows = round_up(n, 8);
    const Triangle &r = steps.damped;
    for (int i = 0; i < n; ++i)
        std::memcpy(r.row(i) + i, s.full.row(top + i) + s.n_linear + i, (n + 1 - i) * sizeof(double));
    r.row(n)[n] = 0.0;
    for (int k = 0; k <= n; ++k)
        fill_zero(steps.column[k], rows);
    for (int k = 0; k < n; ++k) {
        steps.column[k][k] = steps.held[k] ? 1.0 : std::sqrt(damping * steps.diagonal[k]);
        for (int i = 0; i <= k && steps.held[k]; ++i)
            r.row(i)[k] = 0.0;
    }
    fold<double, true>(r, steps.column, rows);
    for (int k = n - 1; k >= 0; --k) {
        const double *row = r.row(k);
        double left = -row[n];
        for (int j = k + 1; j < n; ++j)
            left -= row[j] * steps.step[j];
        steps.step[k] = left / row[k];
        if (!is_finite(steps.step[k]))
            return false;
    }
    return true;
}

template <class T>
void run_separable(const TapeView &tape, const DataView<T> &data, const Penalties &penalties,
                   const LevenbergOptions &options, Start &start, StopSignal stop, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    fit.lasso = 0.0;
    const int n = fit.n;
    const Separable<T> s = separate<T>(fit, arena);
    const Steps steps = take_steps<T>(s, arena);
    double *params = take<double>(arena, n), *trial = take<double>(arena, n);
    std::memcpy(params, fit.params, n * sizeof(double));
    const Loss given = evaluate<T>(fit, fit.params);
    Loss loss = project<T>(s, params);
    fit.stop = &stop;
    Damping rule = {options.damping, 2.0, 0};
    bool fresh = false;
    int64_t iteration = 0;
    int top = 0;
    start.status = is_finite(loss.total) ? (s.n_others > 0 ? RAN_OUT : CONVERGED) : NOT_FINITE;
    for (; iteration < options.iterations && start.status == RAN_OUT; ++iteration) {
        if (is_stopped<T>(fit)) {
            start.status = STOPPED;
            break;
        }
        if (is_done(rule, options, loss)) {
            start.status = CONVERGED;
            break;
        }
        if (!fresh) {
            top = linearise<T>(s, params);
            if (top < 0 || !look<T>(s, params, top, steps)) {
                start.status = top < 0 ? STOPPED : NOT_FINITE;
                break;
            }
            fresh = true;
        }
        if (!solve<T>(s, top, rule.damping, steps)) {
            after_failure(rule);
            continue;
        }
        double promised = 0.0;
        for (int k = 0; k < s.n_others; ++k) {
            const int p = s.order[s.n_linear + k];
            const double step = steps.step[k];
            trial[p] = smaller(larger(params[p] + step, fit.lower[p]), fit.upper[p]);
            promised +=
                steps.held[k] ? 0.0 : step * (rule.damping * steps.diagonal[k] * step - steps.slope[k]);
        }
        const Loss next = project<T>(s, trial);
        if (is_finite(next.total) && next.total < loss.total) {
            after_success(rule, options, loss, next, promised);
            loss = next;
            std::memcpy(params, trial, n * sizeof(double));
            fresh = false;
        } else {
            after_refusal(rule);
        }
    }
    fit.stop = nullptr;
    loss = evaluate<T>(fit, params); // with the rounding of the weights
    const bool better = loss.total <= given.total || !is_finite(given.total);
    start.objective = better ? loss.total : given.total;
    start.misfit = better ? loss.misfit : given.misfit;
    start.iterations = iteration;
    close_fit<T>(fit, better ? params : fit.params, start);
}

} // namespace ceql::CEQL_ISA
