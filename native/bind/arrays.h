// bind/arrays.h: numbers that Python gets as numpy arrays.

#pragma once

#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace runahead {

template <class T, size_t N>
using Array = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<N>>;

// A numpy array of this shape that owns its numbers.
template <class T, size_t N>
Array<T, N> array_of(std::vector<T> values, const size_t (&shape)[N]) {
  auto* owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T, N>(owned->data(), N, shape, owner);
}

}  // namespace runahead
