// base/wide_stack.h: for libraries that call themselves once per byte of their input.

#pragma once

#include <cstddef>
#include <functional>

namespace runahead {

// Runs `work` on a thread whose stack has `bytes`, and waits for it. What it throws is thrown here.
// Throws Error(kNoMemory) where there is no room for such a stack; pages of it that are not used
// take no memory.
void on_wide_stack(size_t bytes, const std::function<void()>& work);

}  // namespace runahead
