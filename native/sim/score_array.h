// sim/score_array.h
//
// ScoreArray is the scores of a recorded trace, in single or half precision (IEEE 754 binary16): a
// view of memory that its owner keeps. What is read is checked, so that damaged scores cannot
// confuse who sorts by them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runahead {

class ScoreArray {
 public:
  ScoreArray() = default;
  explicit ScoreArray(std::span<const float> scores) : singles_(scores) {}
  explicit ScoreArray(std::span<const uint16_t> halves) : halves_(halves) {}

  [[nodiscard]] size_t size() const { return singles_.size() + halves_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Fills `out` from place `begin` on. Throws Error(kInvalid) for a score outside 0 .. 1.
  // REQUIRES: begin + out.size() <= size().
  void read(size_t begin, std::span<float> out) const;

 private:
  std::span<const float> singles_;  // one of the two is empty
  std::span<const uint16_t> halves_;
};

}  // namespace runahead
