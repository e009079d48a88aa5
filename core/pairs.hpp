// Computes how much of the rest each pair of terms explains, for adding both to a sum. A term is a few
// orthonormal directions. A panel is as many second terms as fit into a lane; it is combined with a few first
// terms at a time, so that the products of their directions stay in registers.
#pragma once
#include <cstring>

#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

template <class T> struct Products {
    Lane<T> u[pair_rows][2],
        left[pair_rows][3]; // the rest along a second term, and what the first term leaves of its square
};

// Stores the directions of a panel's second terms side by side, row by row, with zeros beyond the last term.
template <class T> void lay_out_panel(const PairScan<T> &scan, int64_t first, T *panel) {
    constexpr int w = lane_count<T>;
    const int64_t there = scan.others - first < w ? scan.others - first : w;
    for (int64_t n = 0; n < scan.rows; ++n)
        for (int32_t c = 0; c < scan.other_width; ++c) {
            T *to = panel + (n * scan.other_width + c) * w;
            std::memset(to, 0, w * sizeof(T));
            std::memcpy(to, scan.second + (c * scan.rows + n) * scan.others + first, there * sizeof(T));
        }
}

// Loads numbers from a list that need not be aligned, with zeros beyond its end.
template <class T> inline Lane<T> load_some(const T *p, int64_t left) {
    Lane<T> v = {};
    std::memcpy(&v, p, size_t(left < lane_count<T> ? left : lane_count<T>) * sizeof(T));
    return v;
}

// Projects the directions of a few first terms out of the second ones.
template <class T, int WIDTH>
inline void take_out(const PairScan<T> &scan, int64_t block, const T *panel, Products<T> &p) {
    constexpr int w = lane_count<T>, r = pair_rows;
    for (int32_t a = 0; a < scan.width; ++a) {
        const T *one = scan.first + (block * scan.width + a) * scan.rows * r;
        Lane<T> dot[r][WIDTH] = {};
        for (int64_t n = 0; n < scan.rows; ++n)
            for (int c = 0; c < WIDTH; ++c) {
                const Lane<T> other = load<T>(panel + (n * WIDTH + c) * w);
                for (int k = 0; k < r; ++k)
                    dot[k][c] += other * one[n * r + k];
            }
        for (int k = 0; k < r; ++k) {
            const T along = scan.along[(block * scan.width + a) * r + k];
            for (int c = 0; c < WIDTH; ++c) {
                p.u[k][c] -= along * dot[k][c];
                p.left[k][2 * c] -= dot[k][c] * dot[k][c];
            }
            if (WIDTH > 1)
                p.left[k][1] -= dot[k][0] * dot[k][WIDTH - 1];
        }
    }
}

// Returns what the directions of second terms explain in addition to a first one: u' L^-1 u with one or two
// rows. Directions of which too little is left are ignored. The second direction, a slope, counts only
// together with the first.
template <class T, int WIDTH>
inline Lane<T> explained(const PairScan<T> &scan, const Lane<T> *u, const Lane<T> *left) {
    const Lane<T> none = {}, one = splat<T>(T(1));
    const auto fresh = left[0] > scan.least_left;
    const Lane<T> inverse = one / (fresh ? left[0] : one);
    Lane<T> gain = fresh ? u[0] * u[0] * inverse : none;
    if (WIDTH > 1) {
        const Lane<T> share = left[1] * inverse;
        const Lane<T> rest = u[1] - share * u[0], size = left[2] - share * left[1];
        const Lane<T> more = rest * rest / (size > scan.least_left ? size : one);
        gain += fresh ? (size > scan.least_left ? more : none) : none;
    }
    return gain;
}

// Bound on how far the approximate logarithm of a lane, times its weight, may deviate from being monotonic.
template <class T> constexpr T score_slack = T(1e-3);

template <class T, int WIDTH>
void panel_gains(const PairScan<T> &scan, int64_t first, const T *panel, int64_t block, T wanted, T *gain,
                 T *score, T *best) {
    constexpr int w = lane_count<T>;
    const int64_t there = scan.others - first;
    Products<T> begin = {};
    for (int k = 0; k < pair_rows; ++k)
        for (int c = 0; c < WIDTH; ++c) {
            begin.u[k][c] = load_some<T>(scan.rest + c * scan.others + first, there);
            begin.left[k][2 * c] = load_some<T>(scan.present + c * scan.others + first, there);
        }
    const Lane<T> prices = load_some<T>(scan.other_prices + first, there);
    take_out<T, WIDTH>(scan, block, panel, begin);
    const auto scored = [&](Lane<T> both, T price) {
        const Lane<T> rest = at_least<T>(T(1) - both, splat<T>(scan.rounding));
        return scan.weight * lane_log<T>(rest) + price + prices;
    };
    Lane<T> most = {}, both[pair_rows];
    T cheapest = scan.prices[block * pair_rows];
    for (int k = 0; k < pair_rows; ++k) {
        T own = 0;
        for (int32_t a = 0; a < scan.width; ++a) {
            const T along = scan.along[(block * scan.width + a) * pair_rows + k];
            own += along * along;
        }
        both[k] = explained<T, WIDTH>(scan, begin.u[k], begin.left[k]) + own;
        both[k] = both[k] < scan.too_much ? both[k] : Lane<T>{};
        store<T>(gain + k * w, both[k]);
        most = both[k] > most ? both[k] : most;
        const T price = scan.prices[block * pair_rows + k];
        cheapest = price < cheapest ? price : cheapest;
    }
    // No score can be below that of the largest share at the lowest price, so usually a single logarithm
    // shows that none is wanted.
    Lane<T> least = scored(most, cheapest) - score_slack<T>;
    bool is_wanted = false;
    for (int k = 0; k < w; ++k)
        is_wanted = is_wanted || !(least[k] > wanted);
    if (is_wanted)
        least = splat<T>(T(1e30));
    for (int k = 0; k < pair_rows; ++k) {
        const Lane<T> priced = is_wanted ? scored(both[k], scan.prices[block * pair_rows + k]) : least;
        store<T>(score + k * w, priced);
        least = priced < least ? priced : least;
    }
    best[0] = most[0];
    best[1] = least[0];
    for (int k = 1; k < w; ++k) {
        best[0] = most[k] > best[0] ? most[k] : best[0];
        best[1] = least[k] < best[1] ? least[k] : best[1];
    }
}

// Computes the shares of the rest that the first terms of a block explain together with the second terms of a
// panel, and scores that combine them with the prices, (pair_rows, lanes) each; `best` gets the largest share
// and the smallest score. If no score can be as low as `wanted`, the scores are only placeholders above it.
// Terms beyond the last one are included.
template <class T>
void pair_gains(const PairScan<T> &scan, int64_t first, const T *panel, int64_t block, T wanted, T *gain,
                T *score, T *best) {
    const auto gains = scan.other_width > 1 ? panel_gains<T, 2> : panel_gains<T, 1>;
    gains(scan, first, panel, block, wanted, gain, score, best);
}

} // namespace ceql::CEQL_ISA
