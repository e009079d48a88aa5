// Levenberg-Marquardt for the misfit, the quadratic penalties and the auxiliary slots. J'J is accumulated
// block by block, so memory does not grow with the number of samples. The lasso penalty has no residuals and
// is ignored.
#pragma once
#include "objective.hpp"

namespace ceql::CEQL_ISA {

#if CEQL_LANE_BYTES == 64 || defined(__aarch64__)
constexpr int tile = 4;
#else
constexpr int tile = 2; // sixteen registers hold a 4 x 2 tile of sums and its operands
#endif
constexpr int tile_rows = 4;

// The symmetric matrix J'J with J'r as an additional last column; rows are padded to whole lanes.
struct Normal {
    int n, columns, pitch; // n parameters; columns = n + 1
    double *matrix;
    double *row(int i) const { return matrix + size_t(i) * pitch; }
};

inline int round_up(int x, int to) { return (x + to - 1) / to * to; }

// Whether one of the columns from `first` on is not all zeros: its parameter moves an output, or it is the
// residual.
template <class T, int count> bool any_moves(const Program<T> &p, uint64_t outputs, int first) {
    for (int k = first; k < first + count; ++k)
        if (k >= p.n_params || (p.moved[k] & outputs))
            return true;
    return false;
}

// normal += columns' * columns over one block; the residual is the last column. Zero columns are skipped, as
// a penalty depends on few parameters.
template <class T>
void gather_normal(const Program<T> &p, uint64_t outputs, const Normal &normal, const T *columns, int n) {
    constexpr int w = lane_count<T>;
    for (int i = 0; i < normal.n; i += tile_rows) {
        if (!any_moves<T, tile_rows>(p, outputs, i))
            continue;
        for (int j = i / tile * tile; j < normal.columns; j += tile) {
            if (!any_moves<T, tile>(p, outputs, j))
                continue;
            Lane<T> s[tile_rows][tile] = {};
            const T *a = columns + size_t(i) * block_size<T>, *b = columns + size_t(j) * block_size<T>;
            for (int k = 0; k < n; k += w) {
                Lane<T> right[tile];
                for (int v = 0; v < tile; ++v)
                    right[v] = load<T>(b + v * block_size<T> + k);
                for (int u = 0; u < tile_rows; ++u) {
                    const Lane<T> left = load<T>(a + u * block_size<T> + k);
                    for (int v = 0; v < tile; ++v)
                        s[u][v] += left * right[v];
                }
            }
            T total[tile_rows][tile]; // fixed size, so that the sums stay in registers
            for (int u = 0; u < tile_rows; ++u)
                for (int v = 0; v < tile; ++v)
                    total[u][v] = sum<T>(s[u][v]);
            for (int u = 0; u < tile_rows && i + u < normal.n; ++u)
                for (int v = 0; v < tile && j + v < normal.columns; ++v)
                    if (j + v >= i + u)
                        normal.row(i + u)[j + v] += double(total[u][v]);
        }
    }
}

template <class T> bool any_nonzero(const T *x, int n) {
    for (int i = 0; i < n; ++i)
        if (x[i] != T(0))
            return true;
    return false;
}

// Fills the normal equations at `params`, where the model was evaluated last: values and derivatives of a
// single block are still available. Returns false if a value is not finite.
template <class T>
bool linearise(Fit<T> &fit, const double *params, const T *root_weight, T *columns, const Normal &normal) {
    constexpr int w = lane_count<T>;
    Program<T> &p = fit.program;
    set_parameters<T>(p, params);
    fill_zero(normal.matrix, size_t(normal.n) * normal.pitch);
    T *residual = columns + size_t(fit.n) * block_size<T>;
    const T root_aux = T(std::sqrt(fit.aux_weight));
    for (int64_t start = 0; start < fit.data.padded; start += block_size<T>) {
        const int n = enter_block<T>(p, fit.data, start), n_true = true_samples<T>(fit.data, start, n);
        if (is_stopped<T>(fit))
            return false;
        if (!fit.one_block)
            forward<T, true>(p, n);
        for (int k = 0; k < p.n_outputs; ++k) {
            const T *value = p.value[p.outputs[k]];
            if (k > 0 && !any_nonzero<T>(value, n_true))
                continue;
            clear_adjoints<T>(p, uint64_t(1) << k, n);
            T *seed = p.adjoint[p.outputs[k]];
            if (!seed) // a bare input column has no parameters
                continue;
            if (k == 0) {
                const T *y = fit.data.y + start, *rw = root_weight + start;
                for (int i = 0; i < n; i += w) {
                    store<T>(seed + i, load<T>(rw + i));
                    store<T>(residual + i, load<T>(rw + i) * (load<T>(value + i) - load<T>(y + i)));
                }
            } else {
                for (int i = 0; i < n; ++i) {
                    seed[i] = i < n_true ? root_aux : T(0);
                    residual[i] = seed[i] * value[i];
                }
            }
            backward_jacobian<T>(p, k, n, columns);
            gather_normal<T>(p, uint64_t(1) << k, normal, columns, n);
        }
    }
    bool finite = true;
    for (int k = 0; k < fit.n; ++k) {
        normal.row(k)[k] += fit.ridge[k];
        normal.row(k)[fit.n] += fit.ridge[k] * params[k];
        finite = finite && is_finite(normal.row(k)[k]) && is_finite(normal.row(k)[fit.n]);
    }
    return finite;
}

// row[from ..] -= factor * pivot_row[from ..], in whole lanes.
inline void subtract(double *row, double factor, const double *pivot_row, int from, int to) {
    constexpr int w = lane_count<double>;
    const Lane<double> f = splat<double>(factor);
    for (int j = from / w * w; j < to; j += w)
        store<double>(row + j, load<double>(row + j) - f * load<double>(pivot_row + j));
}

// Solves (J'J + damping * diagonal) step = -J'r for the free parameters by elimination on a copy. Elements
// left of the diagonal are ignored, so whole lanes may be updated. With two pivots at a time, rows are loaded
// and stored half as often. The step has room for whole lanes.
inline bool solve(const Normal &normal, double damping, const double *diagonal, const uint8_t *held,
                  double *copy, double *step) {
    constexpr int w = lane_count<double>;
    const int n = normal.n, pitch = normal.pitch;
    std::memcpy(copy, normal.matrix, size_t(n) * pitch * sizeof(double));
    for (int k = 0; k < n; ++k) {
        double *row = copy + size_t(k) * pitch;
        row[k] += damping * diagonal[k];
        if (!held[k])
            continue;
        for (int i = 0; i < k; ++i)
            copy[size_t(i) * pitch + k] = 0.0;
        for (int j = k + 1; j <= n; ++j)
            row[j] = 0.0;
        row[k] = 1.0;
    }
    for (int k = 0; k < n; k += 2) {
        double *one = copy + size_t(k) * pitch, *other = one + pitch;
        if (is_singular(one[k], normal.row(k)[k]))
            return false;
        const double inverse = 1.0 / one[k];
        if (k + 1 == n)
            break;
        subtract(other, one[k + 1] * inverse, one, k + 1, n + 1);
        if (is_singular(other[k + 1], normal.row(k + 1)[k + 1]))
            return false;
        const double inverse_of_other = 1.0 / other[k + 1];
        for (int i = k + 2; i < n; ++i) {
            const Lane<double> f = splat<double>(one[i] * inverse),
                               g = splat<double>(other[i] * inverse_of_other);
            double *row = copy + size_t(i) * pitch;
            for (int j = i / w * w; j <= n; j += w)
                store<double>(row + j, load<double>(row + j) - f * load<double>(one + j) -
                                           g * load<double>(other + j));
        }
    }
    fill_zero(step, size_t(pitch));
    for (int k = n - 1; k >= 0; --k) {
        const double *row = copy + size_t(k) * pitch;
        Lane<double> s = {}; // components that are not known yet are zero
        for (int j = k / w * w; j < n; j += w)
            s += load<double>(row + j) * load<double>(step + j);
        step[k] = -(row[n] + sum<double>(s)) / row[k];
    }
    return true;
}

// The plain method: all parameters are fitted in the same way, by the normal equations.
template <class T> struct Plain {
    Fit<T> &fit;
    Normal normal;
    double *copy, *diagonal, *step, *trial;
    uint8_t *held;
    T *columns, *root_weight;

    bool is_stopped() const { return ceql::CEQL_ISA::is_stopped<T>(fit); }

    bool linearise() {
        if (!ceql::CEQL_ISA::linearise<T>(fit, fit.params, root_weight, columns, normal))
            return false;
        double largest = 0.0;
        for (int k = 0; k < fit.n; ++k)
            largest = larger(largest, normal.row(k)[k]);
        for (int k = 0; k < fit.n; ++k) {
            diagonal[k] = scale_of(normal.row(k)[k], largest);
            held[k] = is_held(fit.params[k], fit.lower[k], fit.upper[k], normal.row(k)[fit.n]);
        }
        return true;
    }

    bool solve(double damping) { return ceql::CEQL_ISA::solve(normal, damping, diagonal, held, copy, step); }

    double move(double damping) {
        double promised = 0.0;
        for (int k = 0; k < fit.n; ++k) {
            trial[k] = smaller(larger(fit.params[k] + step[k], fit.lower[k]), fit.upper[k]);
            promised += held[k] ? 0.0 : step[k] * (damping * diagonal[k] * step[k] - normal.row(k)[fit.n]);
        }
        return promised;
    }

    Loss judge() { return evaluate_for_slopes<T>(fit, trial); }
    void accept() { std::memcpy(fit.params, trial, fit.n * sizeof(double)); }
};

template <class T> Plain<T> take_plain(Fit<T> &fit, Arena &arena) {
    const int n = fit.n;
    const size_t n_columns = round_up(n + 1, 4), pitch = round_up(n + 1, 8);
    Plain<T> model = {fit,
                      {n, n + 1, int(pitch), take<double>(arena, n * pitch)},
                      take<double>(arena, n * pitch),
                      take<double>(arena, n),
                      take<double>(arena, pitch),
                      take<double>(arena, n),
                      take<uint8_t>(arena, n),
                      take<T>(arena, n_columns * block_size<T>),
                      take<T>(arena, fit.data.padded)};
    fill_zero(model.columns, n_columns * block_size<T>);
    for (int64_t i = 0; i < fit.data.padded; ++i)
        model.root_weight[i] = std::sqrt(fit.data.weight[i]);
    return model;
}

template <class T>
void run_levenberg(const TapeView &tape, const DataView<T> &data, const Penalties &penalties,
                   const LevenbergOptions &options, Start &start, StopSignal stop, Arena &arena) {
    Fit<T> fit = open_fit<T>(tape, data, penalties, start, arena);
    fit.lasso = 0.0;
    Plain<T> model = take_plain<T>(fit, arena);
    Loss loss = evaluate_for_slopes<T>(fit, fit.params);
    fit.stop = &stop;
    start.status = is_finite(loss.total) ? RAN_OUT : NOT_FINITE;
    if (fit.n > 0)
        descend(model, options, from_normal_equations(options), loss, start);
    start.objective = loss.total;
    start.misfit = loss.misfit;
    close_fit<T>(fit, fit.params, start);
}

} // namespace ceql::CEQL_ISA
