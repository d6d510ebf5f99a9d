// What a session keeps: the window's mask, and a recurrent state with its checkpoints.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "exec/kv_cache.h"
#include "exec/recurrent_state.h"
#include "model/device.h"

namespace runahead {
namespace {

Hparams with_window(int32_t window, bool chunked = false) {
  Hparams h;
  h.chunked_windows = chunked;
  LayerHparams layer;
  layer.n_head_kv = 1;
  layer.head_dim = layer.head_dim_v = 8;
  h.layers = {layer, layer};
  h.layers[0].window = window;
  return h;
}

Hparams with_recurrent_layer() {
  Hparams h = with_window(0);
  h.layers[1].recurrent = true;
  h.conv_kernel = 4;
  h.conv_channels = 6;
  h.delta_net.n_v_head = 2;
  h.delta_net.n_k_head = 1;
  h.delta_net.head_dim = 2;
  return h;
}

// As a run does: what it reads decides what it writes.
void step(RecurrentState& state, float value, int32_t position) {
  for (ggml_tensor* tensor : {state.conv(1, true), state.heads(1, true)}) {
    const std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)), value);
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
  }
  state.advance(position);
}

bool holds(const RecurrentState& state, float value) {
  for (ggml_tensor* tensor : {state.conv(1, false), state.heads(1, false)}) {
    std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    if (!std::all_of(values.begin(), values.end(), [&](float v) { return v == value; })) {
      return false;
    }
  }
  return true;
}

// Whether the window's mask shows the positions from `first` up to the length.
bool shows(const KvCache& kv, int32_t first) {
  std::vector<ggml_fp16_t> mask(static_cast<size_t>(kv.capacity()));
  ggml_backend_tensor_get(kv.window_mask(), mask.data(), 0, mask.size() * 2);
  for (int32_t i = 0; i < kv.capacity(); ++i) {
    const float value = ggml_fp16_to_fp32(mask[static_cast<size_t>(i)]);
    if ((value == 0.0F) != (i < kv.length() && i >= first)) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE(
    "exec: a window's mask shows the latest positions, or its chunk, however the length moves") {
  Device device(1);
  for (const int32_t window : {1, 5, 300}) {
    for (const bool chunked : {false, true}) {
      const Hparams h = with_window(window, chunked);
      KvCache kv(h, device.buffer_type(), 1024);
      const auto shows_at = [&](int32_t length) {
        const int32_t chunk = length == 0 ? 0 : (length - 1) / window * window;
        return shows(kv, chunked ? chunk : length - window);
      };
      kv.reserve(100);
      for (const int32_t length : {0, 1, 2, 3, 7, 100, 99, 98, 40, 41, 0, 60, 4}) {
        kv.set_length(length);
        CAPTURE(window);
        CAPTURE(chunked);
        CAPTURE(length);
        CHECK(shows_at(length));
      }
      kv.reserve(700);
      CHECK(shows_at(4));
      for (const int32_t length : {650, 320, 600, 601, 300, 301}) {
        kv.set_length(length);
        CHECK(shows_at(length));
      }
    }
  }
}

TEST_CASE("exec: a recurrent state is what the last finished step wrote") {
  Device device(1);
  const Hparams h = with_recurrent_layer();
  RecurrentState state(h, device.buffer_type());
  REQUIRE(state.exists());
  state.reserve();
  CHECK(state.conv(0, false) == nullptr);
  CHECK(holds(state, 0.0F));
  step(state, 1.0F, 10);
  CHECK(holds(state, 1.0F));
  // A step that does not end leaves no trace.
  ggml_backend_tensor_memset(state.heads(1, true), 7, 0, ggml_nbytes(state.heads(1, true)));
  CHECK(holds(state, 1.0F));
  step(state, 2.0F, 11);
  CHECK(holds(state, 2.0F));
  CHECK(state.position() == 11);
}

TEST_CASE("exec: a recurrent state goes back to its latest checkpoint, or to nothing") {
  Device device(1);
  const Hparams h = with_recurrent_layer();
  RecurrentState state(h, device.buffer_type());
  state.reserve();
  for (int32_t position = 1; position <= 9; ++position) {
    step(state, static_cast<float>(position), position);
    if (position % 3 == 0) {
      state.save_checkpoint();  // at 3, 6, 9: the first has to go
    }
  }
  step(state, 10.0F, 10);
  CHECK(state.rewind(12) == 12);  // nothing to do
  CHECK(holds(state, 10.0F));
  CHECK(state.rewind(9) == 9);
  CHECK(holds(state, 9.0F));
  step(state, 20.0F, 10);
  CHECK(state.rewind(8) == 6);
  CHECK(holds(state, 6.0F));
  CHECK(state.position() == 6);
  step(state, 30.0F, 7);
  CHECK(state.rewind(5) == 0);
  CHECK(holds(state, 0.0F));
  step(state, 1.0F, 1);
  state.save_checkpoint();
  step(state, 2.0F, 2);
  CHECK(state.rewind(1) == 1);
  CHECK(holds(state, 1.0F));
}

TEST_CASE("exec: a model without recurrent layers keeps no state") {
  Device device(1);
  const Hparams h = with_window(0);
  RecurrentState state(h, device.buffer_type());
  state.reserve();
  state.save_checkpoint();
  CHECK_FALSE(state.exists());
  CHECK(state.rewind(17) == 17);
}

}  // namespace runahead
