// Arrays from Python in a layout that the core can read (contiguous, native byte order, aligned), and arrays
// returned to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace ceql {

template <class T, size_t D>
using AnyArray = nanobind::ndarray<const T, nanobind::ndim<D>, nanobind::c_contig, nanobind::device::cpu>;

// nanobind copies arrays that are not contiguous, but passes on unaligned ones.
template <class T, size_t D> struct Array : AnyArray<T, D> {
    Array() = default;
    explicit Array(AnyArray<T, D> &&any) : AnyArray<T, D>(std::move(any)) {}
    bool is_aligned() const { return reinterpret_cast<uintptr_t>(this->data()) % alignof(T) == 0; }
};

inline void require(bool condition, const char *complaint) {
    if (!condition)
        throw nanobind::value_error(complaint);
}

template <class T, class A> std::vector<T> copied(const A &array) {
    return std::vector<T>(array.data(), array.data() + array.size());
}

// Copies rows of integers into records; memcpy must not get the null pointer of an empty array.
template <class Record> std::vector<Record> records(const Array<int32_t, 2> &rows) {
    std::vector<Record> all(rows.shape(0));
    if (!all.empty())
        std::memcpy(all.data(), rows.data(), all.size() * sizeof(Record));
    return all;
}

// An uninitialised array for Python, to be filled by threads, so that they also map its memory.
template <class T, class... Sizes> auto unfilled_array(Sizes... sizes) {
    const size_t total = (size_t(1) * ... * size_t(sizes));
    T *memory = new T[total > 0 ? total : 1];
    nanobind::capsule owner(memory, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<sizeof...(Sizes)>>(memory, {size_t(sizes)...},
                                                                                   owner);
}

// The same, filled with zeros.
template <class T, class... Sizes> auto new_array(Sizes... sizes) {
    auto array = unfilled_array<T>(sizes...);
    std::fill_n(array.data(), array.size(), T());
    return array;
}

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
