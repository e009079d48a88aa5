// The R of a QR factorisation, into which rows are folded block by block by Householder reflections. Its
// condition number is that of J, not its square as for J'J, and memory does not grow with the number of
// samples.
#pragma once
#include "program.hpp"
#include "rules.hpp"

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

template <class T> inline double dot(const T *a, const T *b, int n) {
    constexpr int w = lane_count<T>;
    Lane<T> s[dot_unroll] = {};
    int i = 0;
    for (; i + dot_unroll * w <= n; i += dot_unroll * w)
        for (int u = 0; u < dot_unroll; ++u)
            s[u] += load<T>(a + i + u * w) * load<T>(b + i + u * w);
    for (; i < n; i += w)
        s[0] += load<T>(a + i) * load<T>(b + i);
    return double(sum<T>((s[0] + s[1]) + (s[2] + s[3])));
}

// A few Householder reflections combined, I - V T V'. Each acts on one row of R, with `head`, and on the rows
// to be folded in, with `v`; the missing reflections of an incomplete panel are zero.
constexpr int panel_size = 4;
template <class T> struct Panel {
    const T *v[panel_size];
    double head[panel_size], t[panel_size][panel_size];
};

// Applies the reflections to `count` columns, whose rows of R begin at `r`.
template <class T, int count>
inline void reflect(const Panel<T> &panel, double *r, int pitch, int present, T *const *columns, int n) {
    constexpr int w = lane_count<T>;
    Lane<T> s[panel_size][count] = {};
    for (int i = 0; i < n; i += w) {
        Lane<T> x[count];
        for (int u = 0; u < count; ++u)
            x[u] = load<T>(columns[u] + i);
        for (int q = 0; q < panel_size; ++q) {
            const Lane<T> v = load<T>(panel.v[q] + i);
            for (int u = 0; u < count; ++u)
                s[q][u] += v * x[u];
        }
    }
    T total[panel_size][count]; // fixed size, so that the sums stay in registers
    for (int q = 0; q < panel_size; ++q)
        for (int u = 0; u < count; ++u)
            total[q][u] = sum<T>(s[q][u]);
    for (int u = 0; u < count; ++u) {
        double along[panel_size] = {};
        for (int q = 0; q < present; ++q)
            along[q] = double(total[q][u]) + panel.head[q] * r[size_t(q) * pitch + u];
        for (int q = panel_size - 1; q >= 0; --q) {
            double f = 0.0;
            for (int o = 0; o <= q; ++o)
                f += panel.t[o][q] * along[o];
            if (q < present)
                r[size_t(q) * pitch + u] -= panel.head[q] * f;
            s[q][u] = splat<T>(T(f));
        }
    }
    for (int i = 0; i < n; i += w) {
        Lane<T> x[count];
        for (int u = 0; u < count; ++u)
            x[u] = load<T>(columns[u] + i);
        for (int q = 0; q < panel_size; ++q) {
            const Lane<T> v = load<T>(panel.v[q] + i);
            for (int u = 0; u < count; ++u)
                x[u] -= s[q][u] * v;
        }
        for (int u = 0; u < count; ++u)
            store<T>(columns[u] + i, x[u]);
    }
}

// Computes the reflections for the columns first .. last-1, which eliminate the rows of each column.
template <class T>
inline Panel<T> reflections(const Triangle &r, T *const *columns, int first, int last, int n) {
    constexpr int w = lane_count<T>;
    Panel<T> panel = {};
    for (int q = 0; q < panel_size; ++q)
        panel.v[q] = columns[first];
    for (int j = first; j < last; ++j) {
        const int q = j - first;
        const T *v = panel.v[q] = columns[j];
        double *own = r.row(j);
        const double below = dot<T>(v, v, n);
        if (below == 0.0)
            continue;
        const auto [corner, head, tau] = reflection(own[j], below);
        own[j] = corner;
        panel.head[q] = head;
        panel.t[q][q] = tau;
        for (int o = 0; o < q; ++o)
            for (int i = o; i < q; ++i)
                panel.t[o][q] -= tau * panel.t[o][i] * dot<T>(panel.v[i], v, n);
        for (int k = j + 1; k < last; ++k) {
            const double f = tau * (head * own[k] + dot<T>(v, columns[k], n));
            own[k] -= f * head;
            const Lane<T> factor = splat<T>(T(f));
            for (int i = 0; i < n; i += w)
                store<T>(columns[k] + i, load<T>(columns[k] + i) - factor * load<T>(v + i));
        }
    }
    return panel;
}

// Folds n more rows into R and overwrites their columns. With `staircase`, the rows of column j after row j
// are zero.
template <class T, bool staircase = false> void fold(const Triangle &r, T *const *columns, int n) {
    for (int first = 0; first < r.columns; first += panel_size) {
        const int last = first + panel_size < r.columns ? first + panel_size : r.columns;
        const int stair = round_up(last, lane_count<T>), rows = staircase && stair < n ? stair : n;
        const Panel<T> panel = reflections<T>(r, columns, first, last, rows);
        int k = last;
        for (; k + tile <= r.columns; k += tile)
            reflect<T, tile>(panel, r.row(first) + k, r.pitch, last - first, columns + k, rows);
        for (; k < r.columns; ++k)
            reflect<T, 1>(panel, r.row(first) + k, r.pitch, last - first, columns + k, rows);
    }
}

// Removes those of the first `n_linear` columns that depend linearly on the columns before them, and makes R
// triangular again. `pivot` gets the row of each column, or -1. Returns the rank, or -1 if the square of a
// column overflows, so that the dependence cannot be decided.
inline int settle(const Triangle &r, int n_linear, double tolerance, int32_t *pivot) {
    int top = 0, rank = 0;
    for (int j = 0; j < r.columns; ++j) {
        double above = 0.0, left = 0.0;
        for (int i = 0; i <= j; ++i)
            (i < top ? above : left) += r.row(i)[j] * r.row(i)[j];
        if (!is_finite(above + left))
            return -1;
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

} // namespace ceql::CEQL_ISA
