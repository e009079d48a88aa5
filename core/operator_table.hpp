// The table of all operators of a tape except sums and products. An entry has a code, a name, the number of
// slots, the slot of an optional imaginary part (or -1), and a rule. This is all the core needs to know about
// an operator: the codes, names and shapes in types.hpp, the rules in operators.hpp and the switches for CPU
// and GPU are generated from this file, which is included wherever one of them is needed, with CEQL_OPERATOR
// defined to select the required part of an entry.
//
// In a rule, the slots are a, b and c (absent ones are zero), `is_complex` tells whether the imaginary part
// is present, V is Lane<T>, and `tiny` is the smallest number to divide by. A rule returns the value and sets
// the derivatives da, db, dc.

CEQL_OPERATOR(SQUARE, "square", 1, -1, { // a^2
    da = a + a;
    return a * a;
})

CEQL_OPERATOR(CUBE, "cube", 1, -1, { // a^3
    const V s = a * a;
    da = T(3) * s;
    return s * a;
})

CEQL_OPERATOR(DIV, "div", 3, 2, { // a * Re(1 / (b + i c))
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
})

CEQL_OPERATOR(LOG, "log", 2, 1, { // Re log(a + i b)
    const V q = is_complex ? a * a + b * b : a * a, inverse = T(1) / at_least<T>(q, tiny);
    da = a * inverse;
    db = b * inverse;
    return is_complex ? T(0.5) * lane_log<T>(q) : lane_log<T>(lane_abs<T>(a));
})

CEQL_OPERATOR(SQRT, "sqrt", 2, 1, { // Re sqrt(a + i b)
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
})

CEQL_OPERATOR(SQRT_IM, "sqrt_im", 2, 1, { // Im sqrt(a + i b)
    V u, v, h;
    complex_sqrt<T>(a, b, u, v, h);
    da = -v * h;
    db = u * h;
    return v;
})

CEQL_OPERATOR(EXP, "exp", 1, -1, { // exp(a)
    const V e = lane_exp<T>(a);
    da = e;
    return e;
})

CEQL_OPERATOR(SIN, "sin", 2, 1, { // sin(a) exp(-b^2 / 2)
    V s, k;
    lane_sincos<T>(a, s, k);
    return damped_wave<T>(s, k, b, is_complex, da, db);
})

CEQL_OPERATOR(COS, "cos", 2, 1, { // cos(a) exp(-b^2 / 2)
    V s, k;
    lane_sincos<T>(a, s, k);
    return damped_wave<T>(k, -s, b, is_complex, da, db);
})

CEQL_OPERATOR(TAN, "tan", 2, 1, { // Re tan(a + i b)
    V s, k, sh, ch;
    lane_sincos<T>(a, s, k);
    // Beyond this the value is zero to the last digit, and the squares would overflow.
    lane_sinhcosh<T>(at_most<T>(at_least<T>(b, splat<T>(T(-20))), splat<T>(T(20))), sh, ch);
    const V inverse = T(1) / at_least<T>(k * k + sh * sh, tiny), re = s * k * inverse, im = sh * ch * inverse;
    da = T(1) + re * re - im * im;
    db = T(-2) * re * im;
    return re;
})

CEQL_OPERATOR(ASIN, "asin", 2, 1, { // Re asin(a + i b)
    V p, q, inverse;
    complex_circle<T>(a, b, p, q, inverse);
    da = p * inverse;
    db = q * inverse;
    return lane_atan2<T>(a, p);
})

CEQL_OPERATOR(ACOS, "acos", 2, 1, { // Re acos(a + i b)
    V p, q, inverse;
    complex_circle<T>(a, b, p, q, inverse);
    da = -p * inverse;
    db = -q * inverse;
    return lane_atan2<T>(p, a);
})

CEQL_OPERATOR(ATAN, "atan", 1, -1, { // atan(a)
    da = T(1) / (T(1) + a * a);
    return lane_atan2<T>(a, splat<T>(T(1)));
})

CEQL_OPERATOR(SINH, "sinh", 1, -1, { // sinh(a)
    V s;
    lane_sinhcosh<T>(a, s, da);
    return s;
})

CEQL_OPERATOR(COSH, "cosh", 1, -1, { // cosh(a)
    V k;
    lane_sinhcosh<T>(a, da, k);
    return k;
})

CEQL_OPERATOR(TANH, "tanh", 1, -1, { // tanh(a)
    const V t = lane_tanh<T>(a);
    da = T(1) - t * t;
    return t;
})

CEQL_OPERATOR(CBRT, "cbrt", 2, 1, { // a / |a + i b|^(2/3): on the real axis, the cube root with the sign of a
    const V q = at_most<T>(at_least<T>(a * a + b * b, splat<T>(T(1e-30))), T(1) / tiny);
    V r = lane_exp<T>(lane_log<T>(q) * T(-1.0 / 3));
    r += r * (T(1) - q * r * r * r) * T(1.0 / 3); // a Newton step for the last digits
    const V root = a * r, part = root / q * T(-2.0 / 3);
    da = r + a * part;
    db = b * part;
    return root;
})

CEQL_OPERATOR(ABS, "abs", 1, -1, { // |a|
    da = with_sign<T>(splat<T>(T(1)), a);
    return lane_abs<T>(a);
})

CEQL_OPERATOR(POW, "pow", 3, 1, { // Re (a + i b)^c
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
})

CEQL_OPERATOR(ANGLE, "angle", 2, 1, { // arg(a + i b)
    const V inverse = T(1) / at_least<T>(a * a + b * b, tiny);
    da = is_complex ? -b * inverse : V{};
    db = a * inverse;
    return lane_atan2<T>(b, a);
})

CEQL_OPERATOR(SHORTFALL, "shortfall", 1, -1, { // max(0, -a): how far an argument is below zero
    da = a < T(0) ? splat<T>(T(-1)) : V{};
    return a >= T(0) ? V{} : -a; // a NaN stays NaN
})

CEQL_OPERATOR(EXCESS, "excess", 1, -1, { // max(0, |a| - 1): how far an argument is beyond one
    const V beyond = lane_abs<T>(a) - T(1);
    da = beyond > T(0) ? with_sign<T>(splat<T>(T(1)), a) : V{};
    return beyond <= T(0) ? V{} : beyond; // a NaN stays NaN
})

#undef CEQL_OPERATOR
