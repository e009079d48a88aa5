// Separable least squares: the weights of the model's last sum are solved for at every step, so that
// Levenberg-Marquardt iterates only the other parameters (variable projection, with Kaufman's Jacobian). All
// computations use the R of a QR factorisation. Weights with bounds or a penalty count as other parameters.
#pragma once
#include "levenberg.hpp"
#include "triangle.hpp"

namespace ceql::CEQL_ISA {

template <class T> struct Separable {
    Fit<T> &fit;
    const Instruction *readout; // the model's last sum, or null
    int n_linear, n_others;
    int32_t *order, *pivot; // per column: its parameter (weights of the readout first), and its row in R
    T *memory;              // the columns of a block, by parameter and then the residual
    T **column;             // the same columns, in the order of `order`
    const T *root_weight;
    Triangle full, weights; // with all columns, and with only those of the weights
    Mixing<T> mixing;
    T **mixed; // if samples are mixed: the rows of each column
};

// Whether a weight enters linearly: all its edges lead to the readout, and it has no penalty and no bounds.
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

// Adds the mixed samples of a block to `count` columns.
template <class T, int count>
inline void mix(const Mixing<T> &by, int64_t start, int n, T *const *columns, T *const *mixed) {
    constexpr int w = lane_count<T>, depth = 4; // the padded size is a multiple of this many lanes
    for (int64_t r = 0; r < by.padded; r += depth * w) {
        Lane<T> s[depth][count];
        for (int d = 0; d < depth; ++d)
            for (int u = 0; u < count; ++u)
                s[d][u] = load<T>(mixed[u] + r + d * w);
        const T *part = by.by_sample + start * by.padded + r;
        for (int i = 0; i < n; ++i, part += by.padded) {
            Lane<T> x[count];
            for (int u = 0; u < count; ++u)
                x[u] = splat<T>(columns[u][i]);
            for (int d = 0; d < depth; ++d) {
                const Lane<T> own = load<T>(part + d * w);
                for (int u = 0; u < count; ++u)
                    s[d][u] += own * x[u];
            }
        }
        for (int d = 0; d < depth; ++d)
            for (int u = 0; u < count; ++u)
                store<T>(mixed[u] + r + d * w, s[d][u]);
    }
}

// Folds a block of samples into R; if samples are mixed, all of them at once with the last block.
template <class T> void fold_block(const Separable<T> &s, const Triangle &r, int64_t start, int n) {
    if (s.mixing.kept == 0)
        return fold<T>(r, s.column, n);
    for (int k = 0; k < r.columns && start == 0; ++k)
        fill_zero(s.mixed[k], s.mixing.padded);
    const int n_true = true_samples<T>(s.fit.data, start, n);
    int k = 0;
    for (; k + tile <= r.columns; k += tile)
        mix<T, tile>(s.mixing, start, n_true, s.column + k, s.mixed + k);
    for (; k < r.columns; ++k)
        mix<T, 1>(s.mixing, start, n_true, s.column + k, s.mixed + k);
    if (start + n >= s.fit.data.padded)
        fold<T>(r, s.mixed, round_up(int(s.mixing.kept), lane_count<T>));
}

template <class T> Separable<T> separate(Fit<T> &fit, const Mixing<T> &mixing, Arena &arena) {
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
                      {},
                      mixing,
                      take<T *>(arena, n + 1)};
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
    T *rows = take<T>(arena, size_t(n + 1) * mixing.padded);
    for (int k = 0; k <= n; ++k)
        s.mixed[k] = rows + size_t(k) * mixing.padded;
    return s;
}

// Folds in a row for every quadratic penalty on the parameters of R's columns; `at` holds their values.
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

// Fills the columns that the weights of the readout multiply, over one block.
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

// Solves for the weights of the readout from a settled triangle and writes them into `params`.
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

// Solves for the weights of the readout, given the other parameters in `params`, and writes them into it. The
// loss is that of the projection, before the rounding of the weights.
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
        s.column[n_linear] = s.column[fit.n]; // here the residual comes directly after the weights
        fold_block<T>(s, s.weights, start, n);
        s.column[n_linear] = first_other;
        for (int k = 1; k < p.n_outputs; ++k)
            aux += plain_squares<T>(p.value[p.outputs[k]], true_samples<T>(fit.data, start, n));
    }
    const double elsewhere = ridge_penalty<T>(fit, params) + fit.aux_weight * aux;
    s.column[n_linear] = s.column[fit.n];
    fold_ridge<T>(s, s.weights, s.column, params);
    s.column[n_linear] = first_other;
    if (settle(s.weights, n_linear, rounding_left<T>, s.pivot) < 0)
        return {INFINITY, INFINITY};
    solve_weights<T>(s, params);
    const double rest = s.weights.row(s.pivot[n_linear])[n_linear];
    double on_weights = 0.0;
    for (int j = 0; j < n_linear; ++j)
        on_weights += fit.ridge[s.order[j]] * params[s.order[j]] * params[s.order[j]];
    return {larger(rest * rest - on_weights, 0.0), rest * rest + elsewhere};
}

// Moves the rows with a nonzero residual to the front of the block and returns how many whole lanes they
// take: a penalty of zero has no slope, and most penalties are zero at most samples.
template <class T> int keep_nonzero(const Separable<T> &s, int n) {
    const T *residual = s.column[s.fit.n];
    int32_t rows[block_size<T>];
    int count = 0;
    for (int i = 0; i < n; ++i)
        if (residual[i] != T(0))
            rows[count++] = i;
    const int padded = round_up(count, lane_count<T>);
    for (int k = 0; k <= s.fit.n; ++k) {
        T *column = s.column[k];
        for (int i = 0; i < count; ++i)
            column[i] = column[rows[i]];
        for (int i = count; i < padded; ++i)
            column[i] = T(0);
    }
    return padded;
}

// Fills R with the Jacobian at `params`, where the model was projected last: values and derivatives of a
// single block are still available, except those of the readout. Returns the row where the other parameters
// begin, or -1 if stopped or too large.
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
            if (k == 0)
                fold_block<T>(s, s.full, start, n);
            else
                fold<T>(s.full, s.column, keep_nonzero<T>(s, n_true));
        }
    }
    fold_ridge<T>(s, s.full, s.column, params);
    return settle(s.full, s.n_linear, rounding_left<T>, s.pivot);
}

// ---- the damped step of the other parameters
// -------------------------------------------------------------------------------------------------------

template <class T> struct Projected {
    const Separable<T> &s;
    Fit<T> &fit;
    double *params, *trial;
    int top;         // the row of R where the other parameters begin
    Triangle damped; // their part of R with the damping folded in
    double **column; // the rows of the damping
    double *slope, *diagonal, *step;
    uint8_t *held;

    bool is_stopped() const { return ceql::CEQL_ISA::is_stopped<T>(fit); }

    // Computes half the slope of the projected objective, the damping scales, and which parameters stay at a
    // bound.
    bool linearise() {
        const int n = s.n_others, shift = s.n_linear;
        top = ceql::CEQL_ISA::linearise<T>(s, params);
        double largest = 0.0;
        bool finite = top >= 0;
        for (int k = 0; k < n && finite; ++k) {
            slope[k] = diagonal[k] = 0.0;
            for (int i = 0; i <= k; ++i) {
                const double *row = s.full.row(top + i) + shift;
                slope[k] += row[k] * row[n];
                diagonal[k] += row[k] * row[k];
            }
            largest = larger(largest, diagonal[k]);
            finite = is_finite(diagonal[k]) && is_finite(slope[k]);
        }
        for (int k = 0; k < n && finite; ++k) {
            const int p = s.order[shift + k];
            diagonal[k] = scale_of(diagonal[k], largest);
            held[k] = is_held(params[p], fit.lower[p], fit.upper[p], slope[k]);
        }
        return finite;
    }

    // Finds the step that minimises |R22 step + z2|^2 + damping |scaled step|^2, by a QR factorisation of
    // both blocks stacked.
    bool solve(double damping) {
        const int n = s.n_others, rows = round_up(n, 8);
        for (int i = 0; i < n; ++i)
            std::memcpy(damped.row(i) + i, s.full.row(top + i) + s.n_linear + i,
                        (n + 1 - i) * sizeof(double));
        damped.row(n)[n] = 0.0;
        fill_zero(column[0], size_t(n + 1) * rows);
        for (int k = 0; k < n; ++k) {
            column[k][k] = held[k] ? 1.0 : std::sqrt(damping * diagonal[k]);
            for (int i = 0; i <= k && held[k]; ++i)
                damped.row(i)[k] = 0.0;
        }
        fold<double, true>(damped, column, rows);
        bool finite = true;
        for (int k = n - 1; k >= 0; --k) {
            const double *row = damped.row(k);
            double left = -row[n];
            for (int j = k + 1; j < n; ++j)
                left -= row[j] * step[j];
            step[k] = left / row[k];
            finite = finite && is_finite(step[k]);
        }
        return finite;
    }

    double move(double damping) {
        double promised = 0.0;
        for (int k = 0; k < s.n_others; ++k) {
            const int p = s.order[s.n_linear + k];
            trial[p] = smaller(larger(params[p] + step[k], fit.lower[p]), fit.upper[p]);
            promised += held[k] ? 0.0 : step[k] * (damping * diagonal[k] * step[k] - slope[k]);
        }
        return promised;
    }

    Loss judge() { return project<T>(s, trial); }
    void accept() { std::memcpy(params, trial, fit.n * sizeof(double)); }
};

template <class T> Projected<T> take_projected(const Separable<T> &s, Arena &arena) {
    const int n = s.n_others, rows = round_up(n, 8);
    Projected<T> model = {s,
                          s.fit,
                          take<double>(arena, s.fit.n),
                          take<double>(arena, s.fit.n),
                          0,
                          take_triangle(arena, n + 1),
                          take<double *>(arena, n + 1),
                          take<double>(arena, n),
                          take<double>(arena, n),
                          take<double>(arena, n),
                          take<uint8_t>(arena, n)};
    double *memory = take<double>(arena, size_t(n + 1) * rows);
    for (int k = 0; k <= n; ++k)
        model.column[k] = memory + size_t(k) * rows;
    std::memcpy(model.params, s.fit.params, s.fit.n * sizeof(double));
    return model;
}

template <class T>
void run_separable(const TapeView &tape, const SampleView<T> &data, const Penalties &penalties,
                   const LevenbergOptions &options, Start &start, StopSignal stop, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    fit.lasso = 0.0;
    const Separable<T> s = separate<T>(fit, data.mixing, arena);
    Projected<T> model = take_projected<T>(s, arena);
    const bool is_mixed = data.mixing.kept > 0; // then only the projection computes the loss
    const Loss given = is_mixed ? Loss{INFINITY, INFINITY} : evaluate<T>(fit, fit.params);
    Loss loss = project<T>(s, model.params);
    fit.stop = &stop;
    start.status = !is_finite(loss.total) ? NOT_FINITE : s.n_others > 0 ? RAN_OUT : CONVERGED;
    descend(model, options, from_projection(options), loss, start);
    fit.stop = nullptr;
    if (!is_mixed)
        loss = evaluate<T>(fit, model.params); // includes the rounding of the weights
    const bool better = loss.total <= given.total || !is_finite(given.total);
    start.objective = better ? loss.total : given.total;
    start.misfit = better ? loss.misfit : given.misfit;
    close_fit<T>(fit, better ? model.params : fit.params, start);
}

} // namespace ceql::CEQL_ISA
