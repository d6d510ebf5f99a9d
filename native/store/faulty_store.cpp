#include "store/faulty_store.h"

#include <chrono>
#include <string>
#include <thread>

#include "base/align.h"
#include "base/error.h"

namespace runahead {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

FaultyStore::FaultyStore(const ExpertStore& store, uint64_t seed, FaultRates rates)
    : store_(store),
      seed_(seed),
      rates_(rates),
      n_reads_(static_cast<size_t>(store.layout().n_layer) *
               static_cast<size_t>(store.layout().n_expert)) {}

void FaultyStore::read(ExpertId id, uint64_t offset, std::span<std::byte> destination) const {
  const auto index =
      static_cast<uint64_t>(id.layer) * static_cast<uint64_t>(store_.layout().n_expert) +
      static_cast<uint64_t>(id.expert);
  const uint64_t nth = n_reads_[index].fetch_add(1, std::memory_order_relaxed);
  const uint64_t random = mix(mix(mix(seed_) ^ index) ^ nth);
  const uint64_t roll = random % 1000;
  const std::string where = "simulated fault at " + text_of(id);
  if (roll < rates_.errors) {
    throw Error(ErrorCode::kIo, where + ": Input/output error");
  }
  if (roll < rates_.errors + rates_.short_reads) {
    const size_t part = align_down(destination.size() / 2, kPageBytes);
    if (part > 0) {
      store_.read(id, offset, destination.first(part));
    }
    throw Error(ErrorCode::kIo, where + ": the file ends after " + std::to_string(part) + " of " +
                                    std::to_string(destination.size()) + " bytes");
  }
  if (roll < rates_.errors + rates_.short_reads + rates_.delays && rates_.max_delay_us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds((random >> 32) % rates_.max_delay_us));
  }
  store_.read(id, offset, destination);
}

}  // namespace runahead
