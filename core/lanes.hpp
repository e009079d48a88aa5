// Lanes: a few numbers that the machine processes at once, and the elementary functions on them. Written with
// the vector extensions common to GCC and Clang, so one source serves SSE2, AVX2, AVX-512 and NEON. The
// functions sacrifice the last bit and extreme ranges (denormals, |x| > 1e6 in a sine) for speed; the tests
// compare them with libm. On a GPU a lane is one number, and the threads of a warp hold its neighbours.
#pragma once
#ifdef __CUDACC_RTC__
#include "gpu/prelude.cuh"
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

#ifndef CEQL_ISA
#define CEQL_ISA baseline
#endif
#if defined(__AVX512F__)
#define CEQL_LANE_BYTES 64
#elif defined(__AVX2__)
#define CEQL_LANE_BYTES 32
#else
#define CEQL_LANE_BYTES 16
#endif

namespace ceql::CEQL_ISA {

template <class T> struct Layout;
template <> struct Layout<double> {
    using Int = int64_t;
    static constexpr int mantissa = 52;
    static constexpr Int bias = 1023;
    static constexpr double smallest = 2.2250738585072014e-308, exp_low = -708.0, exp_high = 709.0;
    // Adding this moves the integer part into the low bits of the mantissa.
    static constexpr double magic = 6755399441055744.0;
    static constexpr double ln2_high = 0.693147180369123816490, ln2_low = 1.90821492927058770002e-10;
    static constexpr double pio2_1 = 1.57079632673412561417e+00, pio2_2 = 6.07710050630396597660e-11,
                            pio2_3 = 2.02226624879595063154e-21;
    static constexpr int exp_terms = 13, log_terms = 11, sin_terms = 9;
    static constexpr double sin_limit = 1e8;
};
template <> struct Layout<float> {
    using Int = int32_t;
    static constexpr int mantissa = 23;
    static constexpr Int bias = 127;
    static constexpr float smallest = 1.17549435e-38f, exp_low = -87.0f, exp_high = 88.0f;
    static constexpr float magic = 12582912.0f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static constexpr float pio2_1 = 1.5703125f, pio2_2 = 4.837512969970703125e-4f,
                           pio2_3 = 7.549790126404332e-8f;
    static constexpr int exp_terms = 7, log_terms = 5, sin_terms = 5;
    static constexpr float sin_limit = 1e5f;
};

#ifdef __CUDACC_RTC__
template <class T> struct LaneType {
    using type = T;
    using int_type = typename Layout<T>::Int;
    static constexpr int count = 1;
};
#else
template <class T> struct LaneType {
    typedef T type __attribute__((vector_size(CEQL_LANE_BYTES)));
    typedef typename Layout<T>::Int int_type __attribute__((vector_size(CEQL_LANE_BYTES)));
    static constexpr int count = CEQL_LANE_BYTES / sizeof(T);
};
#endif
template <class T> using Lane = typename LaneType<T>::type;
template <class T> using IntLane = typename LaneType<T>::int_type;
template <class T> constexpr int lane_count = LaneType<T>::count;

#ifdef __CUDACC_RTC__

inline int64_t same_bits(double x) { return __double_as_longlong(x); }
inline int32_t same_bits(float x) { return __float_as_int(x); }
inline double same_bits(int64_t x) { return __longlong_as_double(x); }
inline float same_bits(int32_t x) { return __int_as_float(x); }
template <class T> inline IntLane<T> bits(Lane<T> x) { return same_bits(x); }
template <class T> inline Lane<T> from_bits(IntLane<T> x) { return same_bits(x); }
template <class T> inline Lane<T> lane_sqrt(Lane<T> x) { return sqrt(x); }
inline double square_root(double x) { return sqrt(x); }

#else

template <class T> inline IntLane<T> bits(Lane<T> x) { return (IntLane<T>)x; }
template <class T> inline Lane<T> from_bits(IntLane<T> x) { return (Lane<T>)x; }

// Adds the upper half of the numbers to the lower half. A shuffle stays in registers; a memcpy does not.
template <class T> inline auto folded(Lane<T> v) {
    typedef T Half __attribute__((vector_size(CEQL_LANE_BYTES / 2)));
#if __has_builtin(__builtin_shufflevector) // in GCC since version 12, and in Clang
    if constexpr (lane_count<T> == 16)
        return Half(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    else if constexpr (lane_count<T> == 8)
        return Half(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7));
    else if constexpr (lane_count<T> == 4)
        return Half(__builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3));
    else
#endif
    {
        Half low, high;
        std::memcpy(&low, &v, sizeof(Half));
        std::memcpy(&high, reinterpret_cast<const char *>(&v) + sizeof(Half), sizeof(Half));
        return Half(low + high);
    }
}

template <class T> inline T sum(Lane<T> v) {
    const auto half = folded<T>(v);
    T total = 0;
    for (int i = 0; i < lane_count<T> / 2; ++i)
        total += half[i];
    return total;
}

template <class T> inline Lane<T> lane_sqrt(Lane<T> x) {
    Lane<T> r;
    for (int i = 0; i < lane_count<T>; ++i)
        r[i] = std::sqrt(x[i]);
    return r;
}
inline double square_root(double x) { return std::sqrt(x); }

#endif

template <class T> inline Lane<T> splat(T x) { return Lane<T>{} + x; }
template <class T> inline Lane<T> load(const T *p) { return *reinterpret_cast<const Lane<T> *>(p); }
template <class T> inline void store(T *p, Lane<T> v) { *reinterpret_cast<Lane<T> *>(p) = v; }

template <class T> inline Lane<T> lane_abs(Lane<T> x) {
    using Int = typename Layout<T>::Int;
    return from_bits<T>(bits<T>(x) & ~(Int(1) << (sizeof(T) * 8 - 1)));
}
template <class T> inline Lane<T> with_sign(Lane<T> magnitude, Lane<T> sign) {
    using Int = typename Layout<T>::Int;
    const IntLane<T> mask = IntLane<T>{} + (Int(1) << (sizeof(T) * 8 - 1));
    return from_bits<T>((bits<T>(magnitude) & ~mask) | (bits<T>(sign) & mask));
}
// Bounds on x that keep a NaN, so that a start in which one occurred does not look finite.
template <class T> inline Lane<T> at_least(Lane<T> x, Lane<T> bound) { return x < bound ? bound : x; }
template <class T> inline Lane<T> at_most(Lane<T> x, Lane<T> bound) { return x > bound ? bound : x; }

template <class T> inline Lane<T> lane_exp(Lane<T> x) {
    using L = Layout<T>;
    const Lane<T> given = x;
    x = at_most<T>(at_least<T>(x, splat<T>(L::exp_low)), splat<T>(L::exp_high));
    const Lane<T> shifted = x * T(1.4426950408889634074) + L::magic;
    const Lane<T> n = shifted - L::magic;
    const Lane<T> r = (x - n * L::ln2_high) - n * L::ln2_low;
    Lane<T> p = splat<T>(T(1));
    for (int k = L::exp_terms; k >= 1; --k)
        p = p * (r * T(1.0 / k)) + T(1);
    const Lane<T> result = from_bits<T>(bits<T>(p) + (bits<T>(shifted) << L::mantissa));
    return given == given ? result : given;
}

template <class T> inline Lane<T> lane_log(Lane<T> x) {
    using L = Layout<T>;
    using Int = typename L::Int;
    const Lane<T> given = x;
    x = at_least<T>(x, splat<T>(L::smallest));
    // Split x = m 2^e with m in [sqrt(1/2), sqrt(2)).
    const Int half_root = sizeof(T) == 8 ? Int(0x3fe6a09e667f3bcdLL) : Int(0x3f3504f3);
    const IntLane<T> exponent = (bits<T>(x) - half_root) >> L::mantissa;
    const Lane<T> m = from_bits<T>(bits<T>(x) - (exponent << L::mantissa));
    const Lane<T> e = from_bits<T>(exponent + bits<T>(splat<T>(L::magic))) - L::magic;
    const Lane<T> f = (m - T(1)) / (m + T(1)), s = f * f;
    Lane<T> p = splat<T>(T(1.0 / (2 * L::log_terms + 1)));
    for (int k = L::log_terms - 1; k >= 1; --k)
        p = p * s + T(1.0 / (2 * k + 1));
    const Lane<T> result = (e * L::ln2_low + T(2) * f * (p * s)) + (T(2) * f + e * L::ln2_high);
    return given == given ? result : given;
}

template <class T> inline void lane_sincos(Lane<T> x, Lane<T> &sine, Lane<T> &cosine) {
    using L = Layout<T>;
    // Beyond this limit the reduction loses all digits; the value stays bounded.
    x = at_most<T>(at_least<T>(x, splat<T>(-L::sin_limit)), splat<T>(L::sin_limit));
    const Lane<T> shifted = x * T(0.63661977236758134308) + L::magic;
    const Lane<T> n = shifted - L::magic;
    const IntLane<T> quadrant = bits<T>(shifted);
    const Lane<T> r = ((x - n * L::pio2_1) - n * L::pio2_2) - n * L::pio2_3, s = r * r;
    Lane<T> ps = splat<T>(T(1)), pc = splat<T>(T(1));
    for (int k = L::sin_terms; k >= 1; --k) {
        ps = T(1) - ps * (s * T(1.0 / ((2 * k) * (2 * k + 1))));
        pc = T(1) - pc * (s * T(1.0 / ((2 * k - 1) * (2 * k))));
    }
    ps = ps * r;
    const auto swap = (quadrant & 1) != 0;
    const Lane<T> a = swap ? pc : ps, b = swap ? ps : pc;
    sine = (quadrant & 2) != 0 ? -a : a;
    cosine = ((quadrant + 1) & 2) != 0 ? -b : b;
}

template <class T> inline Lane<T> lane_tanh(Lane<T> x) {
    const Lane<T> e = lane_exp<T>(lane_abs<T>(x) * T(-2));
    return with_sign<T>((T(1) - e) / (T(1) + e), x);
}

template <class T> inline void lane_sinhcosh(Lane<T> x, Lane<T> &sine, Lane<T> &cosine) {
    const Lane<T> up = lane_exp<T>(lane_abs<T>(x)), down = T(1) / up, s = x * x;
    Lane<T> p = splat<T>(T(1));
    for (int k = Layout<T>::sin_terms; k >= 1; --k)
        p = T(1) + p * (s * T(1.0 / ((2 * k) * (2 * k + 1))));
    // Near zero, the difference of exponentials would lose digits, but the series does not.
    sine = s < T(1) ? x * p : with_sign<T>(T(0.5) * (up - down), x);
    cosine = T(0.5) * (up + down);
}

// The angle of the point (a, b). The rational function is the classical one for |t| <= tan(pi / 8).
template <class T> inline Lane<T> lane_atan2(Lane<T> b, Lane<T> a) {
    const Lane<T> x = lane_abs<T>(a), y = lane_abs<T>(b);
    const auto steep = y > x;
    const Lane<T> low = steep ? x : y, high = at_least<T>(steep ? y : x, splat<T>(Layout<T>::smallest));
    const auto middle = low > high * T(0.41421356237309504880);
    const Lane<T> t = (middle ? low - high : low) / (middle ? low + high : high), s = t * t;
    const Lane<T> p = (((T(-8.750608600031904122785e-1) * s - T(1.615753718733365076637e1)) * s -
                        T(7.500855792314704667340e1)) *
                           s -
                       T(1.228866684490136173410e2)) *
                          s -
                      T(6.485021904942025371773e1);
    const Lane<T> q = ((((s + T(2.485846490142306297962e1)) * s + T(1.650270098316988542046e2)) * s +
                        T(4.328810604912902668951e2)) *
                           s +
                       T(4.853903996359136964868e2)) *
                          s +
                      T(1.945506571482613964425e2);
    Lane<T> angle = t + t * s * p / q;
    angle = middle ? angle + T(0.78539816339744830962) : angle;
    angle = steep ? T(1.57079632679489661923) - angle : angle;
    angle = a < T(0) ? T(3.14159265358979323846) - angle : angle;
    return with_sign<T>(angle, b);
}

} // namespace ceql::CEQL_ISA
