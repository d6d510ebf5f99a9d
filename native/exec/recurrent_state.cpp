#include "exec/recurrent_state.h"

#include <utility>

#include "base/error.h"

namespace runahead {

RecurrentState::RecurrentState(const Hparams& hparams, ggml_backend_buffer_type_t type)
    : hparams_(hparams), type_(type) {}

RecurrentState::Copy RecurrentState::new_copy() const {
  const DeltaNet& d = hparams_.delta_net;
  const auto n_layer = static_cast<size_t>(hparams_.n_layer());
  Copy copy;
  copy.ctx.reset(ggml_init({ggml_tensor_overhead() * (2 * n_layer + 1), nullptr, true}));
  const auto tensor = [&](bool has, int64_t ne0, int64_t ne1, int64_t ne2) {
    return has ? ggml_new_tensor_3d(copy.ctx.get(), GGML_TYPE_F32, ne0, ne1, ne2) : nullptr;
  };
  for (const LayerHparams& layer : hparams_.layers) {
    const bool has_heads = layer.recurrent && d.n_v_head > 0;
    copy.conv.push_back(
        tensor(layer.recurrent, hparams_.conv_kernel - 1, hparams_.conv_channels, 1));
    copy.heads.push_back(tensor(has_heads, d.head_dim, d.head_dim, d.n_v_head));
  }
  copy.buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(copy.ctx.get(), type_));
  if (copy.buffer == nullptr) {
    throw Error(ErrorCode::kNoMemory, "no memory for the recurrent state of a session");
  }
  ggml_backend_buffer_clear(copy.buffer.get(), 0);
  return copy;
}

void RecurrentState::copy_all(const Copy& from, const Copy& to) {
  std::vector<std::byte> bytes;
  const auto copy = [&](const std::vector<ggml_tensor*>& a, const std::vector<ggml_tensor*>& b) {
    for (size_t il = 0; il < a.size(); ++il) {
      if (a[il] != nullptr) {
        bytes.resize(ggml_nbytes(a[il]));
        ggml_backend_tensor_get(a[il], bytes.data(), 0, bytes.size());
        ggml_backend_tensor_set(b[il], bytes.data(), 0, bytes.size());
      }
    }
  };
  copy(from.conv, to.conv);
  copy(from.heads, to.heads);
}

void RecurrentState::reserve() {
  if (exists() && copies_[0].buffer == nullptr) {
    copies_ = {new_copy(), new_copy()};
  }
}

void RecurrentState::advance(int32_t position) {
  current_ = 1 - current_;
  position_ = position;
}

void RecurrentState::save_checkpoint() {
  if (!exists()) {
    return;
  }
  CHECK(checkpoints_.empty() || checkpoints_.back().position <= position_);
  if (!checkpoints_.empty() && checkpoints_.back().position == position_) {
    return;
  }
  Checkpoint checkpoint;
  if (checkpoints_.size() == kMaxCheckpoints) {
    checkpoint = std::move(checkpoints_.front());
    checkpoints_.erase(checkpoints_.begin());
  } else {
    try {
      checkpoint.copy = new_copy();
    } catch (const Error&) {
      return;  // no memory: the session goes on, but further back it must start afresh
    }
  }
  checkpoint.position = position_;
  copy_all(copy(false), checkpoint.copy);
  checkpoints_.push_back(std::move(checkpoint));
}

int32_t RecurrentState::rewind(int32_t position) {
  if (!exists() || position >= position_) {
    return position;
  }
  while (!checkpoints_.empty() && checkpoints_.back().position > position) {
    checkpoints_.pop_back();
  }
  if (checkpoints_.empty()) {
    position_ = 0;
    if (copy(false).buffer != nullptr) {
      ggml_backend_buffer_clear(copy(false).buffer.get(), 0);
    }
    return 0;
  }
  position_ = checkpoints_.back().position;
  copy_all(checkpoints_.back().copy, copy(false));
  return position_;
}

ggml_tensor* RecurrentState::conv(int32_t il, bool written) const {
  return copy(written).conv[static_cast<size_t>(il)];
}

ggml_tensor* RecurrentState::heads(int32_t il, bool written) const {
  return copy(written).heads[static_cast<size_t>(il)];
}

}  // namespace runahead
