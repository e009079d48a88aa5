// The operators of a tape: value and partial derivatives, one source for every
// lane type of the CPU and the GPU.
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

// Value and partial derivatives of one operator on one lane. A missing
// imaginary part comes as zero.
template <class T, int OP>
inline Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c, bool is_complex, Lane<T> &da, Lane<T> &db,
                     Lane<T> &dc) {
    using V = Lane<T>;
    const V tiny = splat<T>(Layout<T>::smallest);
    if constexpr (OP == SQUARE) {
        da = a + a;
        return a * a;
    } else if constexpr (OP == CUBE) {
        const V s = a * a;
        da = T(3) * s;
        return s * a;
    } else if constexpr (OP == DIV) {
        if (!is_complex) {
            const V inverse = T(1) / b, q = a * inverse;
            da = inverse;
            db = -q * inverse;
            return q;
        }
        const V inverse = T(1) / (b * b + c * c), g = b * inverse, h = c * inverse;
        da = g;
        db = a * (h * h - g * g);
        dc = T(-2) * a * g * h;
        return a * g;
    } else if constexpr (OP == LOG) {
        const V q = is_complex ? a * a + b * b : a * a, inverse = T(1) / at_least<T>(q, tiny);
        da = a * inverse;
        db = b * inverse;
        return is_complex ? T(0.5) * lane_log<T>(q) : lane_log<T>(lane_abs<T>(a));
    } else if constexpr (OP == SQRT) {
        if (!is_complex) {
            const V root = lane_sqrt<T>(at_least<T>(a, V{}));
            da = a > T(0) ? T(0.5) / at_least<T>(root, splat<T>(T(1e-15))) : V{};
            return root;
        }
        V u, v, h;
        complex_sqrt<T>(a, b, u, v, h);
        da = u * h;
        db = v * h;
        return u;
    } else if constexpr (OP == SQRT_IM) {
        V u, v, h;
        complex_sqrt<T>(a, b, u, v, h);
        da = -v * h;
        db = u * h;
        return v;
    } else if constexpr (OP == EXP) {
        const V e = lane_exp<T>(a);
        da = e;
        return e;
    } else if constexpr (OP == SIN || OP == COS) {
        V s, k;
        lane_sincos<T>(a, s, k);
        V f = OP == SIN ? s : k, g = OP == SIN ? k : -s;
        if (is_complex) {
            const V damping = lane_exp<T>(T(-0.5) * b * b);
            f *= damping;
            g *= damping;
        }
        da = g;
        db = -b * f;
        return f;
    } else if constexpr (OP == TANH) {
        const V t = lane_tanh<T>(a);
        da = T(1) - t * t;
        return t;
    } else if constexpr (OP == ABS) {
        da = with_sign<T>(splat<T>(T(1)), a);
        return lane_abs<T>(a);
    } else if constexpr (OP == POW) {
        const V r2 = at_least<T>(a * a + b * b, splat<T>(T(1e-30))), log_r = T(0.5) * lane_log<T>(r2);
        const V angle = lane_atan2<T>(b, a), power = lane_exp<T>(c * log_r);
        V s, k;
        lane_sincos<T>(c * angle, s, k);
        const V re = power * k, im = power * s, scale = c / r2;
        // d z^c / dz = c z^c conj(z) / |z|^2
        da = scale * (re * a + im * b);
        db = -scale * (im * a - re * b);
        dc = re * log_r - im * angle;
        return re;
    } else if constexpr (OP == ANGLE) {
        const V inverse = T(1) / at_least<T>(a * a + b * b, tiny);
        da = is_complex ? -b * inverse : V{};
        db = a * inverse;
        return lane_atan2<T>(b, a);
    } else {
        static_assert(OP == SHORTFALL, "an operator without a rule");
        da = a < T(0) ? splat<T>(T(-1)) : V{};
        return a >= T(0) ? V{} : -a; // a NaN stays one
    }
}

} // namespace ceql::CEQL_ISA
