// Arrays from Python as the core may read them: contiguous, in the machine's byte order, and aligned.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

namespace ceql {

template <class T, size_t D>
using AnyArray = nanobind::ndarray<const T, nanobind::ndim<D>, nanobind::c_contig, nanobind::device::cpu>;

// nanobind copies what is not contiguous, but hands on arrays that begin in the middle of a number.
template <class T, size_t D> struct Array : AnyArray<T, D> {
    Array() = default;
    explicit Array(AnyArray<T, D> &&any) : AnyArray<T, D>(std::move(any)) {}
    bool is_aligned() const { return reinterpret_cast<uintptr_t>(this->data()) % alignof(T) == 0; }
};

} // namespace ceql

namespace nanobind::detail {

template <class T, size_t D> struct type_caster<ceql::Array<T, D>> {
    using Array = ceql::Array<T, D>;
    using Any = make_caster<ceql::AnyArray<T, D>>;
    NB_TYPE_CASTER(Array, Any::Name)

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept {
        Any any;
        if (!any.from_python(source, flags, cleanup))
            return false;
        value = Array(std::move(any.value));
        return value.is_aligned();
    }
};

} // namespace nanobind::detail
