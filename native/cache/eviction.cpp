#include "cache/eviction.h"

#include <array>
#include <string>

#include "base/error.h"
#include "cache/finemoe.h"
#include "cache/layer_lru.h"
#include "cache/least_stale.h"
#include "cache/lfu.h"
#include "cache/lfuda.h"
#include "cache/lru.h"

namespace runahead {
namespace {

// A new eviction policy is one file beside lfu.h and one line in this table.
struct Kind {
  std::string_view name;
  std::unique_ptr<Eviction> (*make)(int32_t n_layer, int32_t n_expert);
};

template <class T>
std::unique_ptr<Eviction> make(int32_t n_layer, int32_t n_expert) {
  return std::make_unique<T>(n_layer, n_expert);
}

constexpr std::array kKinds = {
    Kind{"lfu", make<LfuEviction>},
    Kind{"lru", make<LruEviction>},
    Kind{"lfuda", make<LfudaEviction>},
    Kind{"least-stale", make<LeastStaleEviction>},
    Kind{"layer-lru", make<LayerLruEviction>},
    Kind{"finemoe", make<FineMoeEviction>},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kKinds.size()> names;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    names[i] = kKinds[i].name;
  }
  return names;
}();

}  // namespace

std::span<const std::string_view> eviction_names() {
  return kNames;
}

std::unique_ptr<Eviction> make_eviction(std::string_view name, int32_t n_layer, int32_t n_expert) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) {
      return kind.make(n_layer, n_expert);
    }
    known += known.empty() ? "" : ", ";
    known += kind.name;
  }
  throw Error(ErrorCode::kInvalid,
              "unknown eviction \"" + std::string(name) + "\"; this version knows: " + known);
}

}  // namespace runahead
