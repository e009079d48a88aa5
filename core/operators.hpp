// The operators of a tape: values and partial derivatives, shared by all lane
// types of the CPU and the GPU.
#pragma once
#include "lanes.hpp"
#include "types.hpp"

namespace ceql::CEQL_ISA {

// The square root of a + i b without cancellation: u + i v with u >= 0.
template <class T>
inline void complex_sqrt(Lane<T> a, Lane<T> b, Lane<T> &u, Lane<T> &v, Lane<T> &half_inverse) {
    const Lane<T> r = at_least<T>(lane_sqrt<T>(a * a + b * b), splat<T>(T(1e-30)));
    const Lane<T> t = lane_sqrt<T>((r + lane_abs<T>(a)) * T(0.5)), small = lane_abs<T>(b) / (t + t);
    u = a >= T(0) ? t : small;
    v = with_sign<T>(a >= T(0) ? small : t, b);
    half_inverse = T(0.5) / r;
}

// sqrt(1 - z^2) = p + i q of z = a + i b, with p >= 0 (both terms of it have the same sign), and 1 / |1 -
// z^2|.
template <class T>
inline void complex_circle(Lane<T> a, Lane<T> b, Lane<T> &p, Lane<T> &q, Lane<T> &inverse) {
    Lane<T> u, v, h, s, t, k;
    complex_sqrt<T>(T(1) - a, -b, u, v, h);
    complex_sqrt<T>(T(1) + a, b, s, t, k);
    p = u * s - v * t;
    q = u * t + v * s;
    inverse = T(4) * h * k;
}

// A sine or cosine with its slope at the real part of the argument, damped by the imaginary part b.
template <class T>
inline Lane<T> damped_wave(Lane<T> wave, Lane<T> slope, Lane<T> b, bool is_complex, Lane<T> &da,
                           Lane<T> &db) {
    if (is_complex) {
        const Lane<T> damping = lane_exp<T>(T(-0.5) * b * b);
        wave *= damping;
        slope *= damping;
    }
    da = slope;
    db = -b * wave;
    return wave;
}

// Returns the value of one operator on one lane and sets the partial
// derivatives. A missing imaginary part is passed as zero.
template <class T, int OP>
inline Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c, bool is_complex, Lane<T> &da, Lane<T> &db,
                     Lane<T> &dc) {
    using V = Lane<T>;
    const V tiny = splat<T>(Layout<T>::smallest);
    static_assert(OP > MUL && OP < N_OPS, "an operator without a rule");
    if constexpr (OP <= MUL) {
        return V{}; // sums and products have their own loops
    }
#define CEQL_OPERATOR(CODE, name, arguments, imaginary, ...) else if constexpr (OP == CODE) __VA_ARGS__
#include "operator_table.hpp"
}

} // namespace ceql::CEQL_ISA
