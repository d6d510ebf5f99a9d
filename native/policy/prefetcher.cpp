#include "policy/prefetcher.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "policy/finemoe.h"
#include "policy/next_router.h"
#include "policy/prescope.h"
#include "policy/promoe.h"

namespace runahead {
namespace {

using Make = std::unique_ptr<Prefetcher> (*)(const ModelShape&);

struct Named {
  std::string_view name;
  Make make;
};

// One line per prefetcher.
constexpr Named kPrefetchers[] = {
    {"none", [](const ModelShape&) -> std::unique_ptr<Prefetcher> { return nullptr; }},
    {"next-router", [](const ModelShape& shape) { return make_next_router(shape, 1.0); }},
    {"specmd", [](const ModelShape& shape) { return make_next_router(shape, 1.5); }},
    {"finemoe", [](const ModelShape& shape) { return make_finemoe(shape); }},
    {"promoe", [](const ModelShape& shape) { return make_promoe(shape); }},
    {"prescope", [](const ModelShape& shape) { return make_prescope(shape); }},
};

}  // namespace

std::span<const std::string_view> prefetcher_names() {
  static const auto names = [] {
    std::array<std::string_view, std::size(kPrefetchers)> all;
    std::transform(std::begin(kPrefetchers), std::end(kPrefetchers), all.begin(),
                   [](const Named& named) { return named.name; });
    return all;
  }();
  return names;
}

std::unique_ptr<Prefetcher> make_prefetcher(std::string_view name, const ModelShape& shape) {
  std::string known;
  for (const Named& named : kPrefetchers) {
    if (named.name == name) {
      return named.make(shape);
    }
    known += (known.empty() ? "" : ", ") + std::string(named.name);
  }
  throw Error(ErrorCode::kInvalid,
              "unknown prefetch \"" + std::string(name) + "\"; this version knows: " + known);
}

}  // namespace runahead
