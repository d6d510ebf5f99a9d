// exec/recurrent_state.h
//
// RecurrentState holds what one session keeps of its recurrent layers: the tail of a short
// convolution and a state per head. Unlike keys and values it cannot be rewound, so a run reads one
// copy and writes another, and advance() makes the written one current: a step that fails or is
// cancelled has changed nothing. A few checkpoints of earlier positions let a session go back.
// Nothing is allocated for models without such layers. Engine thread only.

#pragma once

#include <ggml-backend.h>
#include <ggml-cpp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "model/hparams.h"

namespace runahead {

class RecurrentState {
 public:
  RecurrentState(const Hparams& hparams, ggml_backend_buffer_type_t type);

  // Takes memory, with the state of an empty session. Throws Error(kNoMemory).
  void reserve();
  // The written copy is current now and stands behind `position` tokens.
  void advance(int32_t position);
  // Keeps the current state, memory permitting; the oldest of kMaxCheckpoints makes room.
  void save_checkpoint();
  // Goes back to the latest known state that stands behind at most `position` tokens; returns
  // behind how many it stands.
  int32_t rewind(int32_t position);

  // Behind how many tokens the current state stands.
  [[nodiscard]] int32_t position() const { return position_; }
  [[nodiscard]] bool exists() const { return hparams_.has_recurrent_layers(); }
  // F32; nullptr for layers that have none. [conv_kernel - 1, conv_channels]
  [[nodiscard]] ggml_tensor* conv(int32_t il, bool written) const;
  // [head_dim, head_dim, n_v_head]
  [[nodiscard]] ggml_tensor* heads(int32_t il, bool written) const;

  static constexpr size_t kMaxCheckpoints = 2;

 private:
  struct Copy {
    ggml_context_ptr ctx;
    ggml_backend_buffer_ptr buffer;
    std::vector<ggml_tensor*> conv;  // per layer
    std::vector<ggml_tensor*> heads;
  };
  struct Checkpoint {
    int32_t position = 0;
    Copy copy;
  };
  [[nodiscard]] Copy new_copy() const;
  static void copy_all(const Copy& from, const Copy& to);
  [[nodiscard]] const Copy& copy(bool written) const {
    return copies_[static_cast<size_t>(written ? 1 - current_ : current_)];
  }

  const Hparams& hparams_;
  ggml_backend_buffer_type_t type_;
  std::array<Copy, 2> copies_;
  int32_t current_ = 0;
  int32_t position_ = 0;
  std::vector<Checkpoint> checkpoints_;  // by position, ascending
};

}  // namespace runahead
