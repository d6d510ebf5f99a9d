// store/expert_loop.h: runs one function for every expert of a layout on several threads, with
// progress and cancel.

#pragma once

#include <cstdint>
#include <functional>

#include "store/layout.h"

namespace runahead {

// (bytes done, bytes of all) -> go on? Called on the caller's thread, a few times a second and at
// the end.
using StoreProgress = std::function<bool(uint64_t done, uint64_t total)>;

// What one worker does with one expert; may throw.
using ExpertWork = std::function<void(ExpertId)>;

// Calls `make_worker` once on each of `n_threads` threads, and what it returns for every expert, in
// file order, once. The first exception of a worker stops the others and is thrown here; so is
// Error(kCancelled) when `progress` (may be empty) returns false. No worker runs any more when it
// returns.
void for_each_expert(const StoreLayout& layout, int32_t n_threads,
                     const std::function<ExpertWork()>& make_worker, const StoreProgress& progress);

// Threads that keep both a disk and this machine's cores busy.
[[nodiscard]] int32_t default_store_threads();

}  // namespace runahead
