// policy/expert_map_store.h
//
// ExpertMapStore holds the expert maps of past tokens (a map: the router probabilities of one token
// at every layer) and finds the one most similar to what a running token has shown so far.
//
// Similarity is the cosine between the layers seen so far and the same layers of a stored map. A
// Trajectory carries its dot product with every stored map along, so that a further layer costs one
// pass over that layer of the store and no more. For that the maps lie layer by layer, as bytes
// with one scale per row (relative error of a cosine about 1e-3): 4096 maps of 48 layers x 128
// experts take 27 MB.
//
// Always true: at most n_maps maps; a full store replaces the map most similar to the new one.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace runahead {

class ExpertMapStore {
 public:
  ExpertMapStore(int32_t n_layer, int32_t n_expert, int32_t n_maps);

  // One token on its way through the layers.
  struct Trajectory {
    int32_t layer = -1;           // the last one seen; -1: none
    std::vector<uint8_t> codes;   // [n_layer, row]
    std::vector<float> scales;    // [n_layer]; 0: not seen
    std::vector<float> products;  // [n_maps] dot product with each stored map
    float norm2 = 0;              // of the layers seen
  };

  struct Match {
    int32_t map = -1;      // -1: the store is empty, or nothing is alike
    float similarity = 0;  // 0 .. 1
  };

  [[nodiscard]] int32_t size() const { return n_stored_; }

  void begin(Trajectory& token) const;
  // REQUIRES: `layer` is above those seen. probabilities: [n_expert]
  void extend(Trajectory& token, int32_t layer, std::span<const float> probabilities) const;
  [[nodiscard]] Match match(const Trajectory& token) const;
  // What the map says of `layer`: [n_expert] probabilities, all 0 where it has none.
  void read(int32_t map, int32_t layer, std::span<float> probabilities) const;
  // Stores the trajectories among `tokens` that have reached the last layer. Every trajectory must
  // then begin again.
  void add(std::span<Trajectory> tokens);

 private:
  [[nodiscard]] size_t row(int32_t layer, int32_t map) const {
    return static_cast<size_t>(layer) * n_maps_ + static_cast<size_t>(map);
  }
  void store(const Trajectory& token, int32_t map);
  [[nodiscard]] float product(const Trajectory& token, int32_t map) const;

  int32_t n_layer_;
  size_t n_expert_;
  size_t stride_;  // bytes of a row: n_expert rounded up to whole blocks
  size_t n_maps_;
  int32_t n_stored_ = 0;
  std::vector<uint8_t> codes_;   // [n_layer, n_maps, stride]
  std::vector<float> scales_;    // [n_layer, n_maps]
  std::vector<float> per_norm_;  // [n_layer, n_maps] 1 / norm of the layers up to this one, or 0
};

}  // namespace runahead
