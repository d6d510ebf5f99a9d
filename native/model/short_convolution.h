// model/short_convolution.h: a causal convolution over the last few positions, per channel.

#pragma once

#include <ggml.h>

#include "model/builder.h"

namespace runahead {

// x: one request's columns, [conv_channels, n]; what it keeps of earlier ones moves on. kernel: F32
// [conv_kernel, conv_channels]. -> [conv_channels, n]
[[nodiscard]] ggml_tensor* short_convolution(Builder& b, int64_t request, ggml_tensor* x,
                                             ggml_tensor* kernel);

}  // namespace runahead
