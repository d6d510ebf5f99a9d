// gguf_builder.h
//
// GgufBuilder writes GGUF bytes, right ones by default and broken ones on request: every count,
// type, length and offset can be overridden after the fact through the public fields.
//
//   GgufBuilder b;
//   b.add_kv_string("general.architecture", "olmoe");
//   b.add_kv_u32("olmoe.block_count", 2);
//   b.add_tensor("blk.0.ffn_up_exps.weight", GGML_TYPE_Q8_0, {64, 32, 4}, bytes);   // bytes
//   omitted: a filler b.tensor("blk.0.ffn_up_exps.weight").offset = 7; // now it is broken
//   b.write(folder / "model.gguf");

#pragma once

#include <ggml.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace runahead::test {

// Type numbers of metadata values.
enum GgufType : uint32_t {
  kGgufU8,
  kGgufI8,
  kGgufU16,
  kGgufI16,
  kGgufU32,
  kGgufI32,
  kGgufF32,
  kGgufBool,
  kGgufString,
  kGgufArray,
  kGgufU64,
  kGgufI64,
  kGgufF64,
};

template <typename T>
std::string raw(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A GGUF string: length, then the bytes; `length` may lie.
inline std::string raw_string(const std::string& text, std::optional<uint64_t> length = {}) {
  return raw<uint64_t>(length.value_or(text.size())) + text;
}

template <typename T>
constexpr uint32_t gguf_type_of() {
  if constexpr (std::is_same_v<T, uint8_t>)
    return kGgufU8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return kGgufI8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return kGgufU16;
  else if constexpr (std::is_same_v<T, int16_t>)
    return kGgufI16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return kGgufU32;
  else if constexpr (std::is_same_v<T, int32_t>)
    return kGgufI32;
  else if constexpr (std::is_same_v<T, float>)
    return kGgufF32;
  else if constexpr (std::is_same_v<T, bool>)
    return kGgufBool;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return kGgufU64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return kGgufI64;
  else {
    static_assert(std::is_same_v<T, double>);
    return kGgufF64;
  }
}

class GgufBuilder {
 public:
  struct Kv {
    std::string key;
    uint32_t type;
    std::string payload;                 // all that follows the type number
    std::optional<uint64_t> key_length;  // lies about key.size()
  };
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> ne;
    std::string bytes;                    // of the data
    std::optional<uint64_t> name_length;  // lies about name.size()
    std::optional<uint32_t> n_dims;       // lies about ne.size()
    std::optional<uint64_t> offset;       // relative to the data; default: the next aligned place
  };

  // What is written; free to be broken.
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> n_tensors;
  std::optional<uint64_t> n_kv;
  uint64_t alignment = 32;  // of the data; set_alignment() writes it as metadata, too
  std::vector<Kv> kvs;
  std::vector<Tensor> tensors;

  // ---- metadata
  GgufBuilder& add_kv_raw(const std::string& key, uint32_t type, const std::string& payload) {
    kvs.push_back({key, type, payload, {}});
    return *this;
  }
  template <typename T>
  GgufBuilder& add_kv(const std::string& key, T value) {
    return add_kv_raw(key, gguf_type_of<T>(), raw(value));
  }
  GgufBuilder& add_kv_u8(const std::string& key, uint8_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_i8(const std::string& key, int8_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_u16(const std::string& key, uint16_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_i16(const std::string& key, int16_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_u32(const std::string& key, uint32_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_i32(const std::string& key, int32_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_u64(const std::string& key, uint64_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_i64(const std::string& key, int64_t v) { return add_kv(key, v); }
  GgufBuilder& add_kv_f32(const std::string& key, float v) { return add_kv(key, v); }
  GgufBuilder& add_kv_f64(const std::string& key, double v) { return add_kv(key, v); }
  GgufBuilder& add_kv_bool(const std::string& key, bool v) { return add_kv(key, v); }
  GgufBuilder& add_kv_string(const std::string& key, const std::string& v) {
    return add_kv_raw(key, kGgufString, raw_string(v));
  }
  // An array of numbers or bools; `count` may lie.
  template <typename T>
  GgufBuilder& add_kv_array(const std::string& key, const std::vector<T>& values,
                            std::optional<uint64_t> count = {}) {
    std::string payload = raw(gguf_type_of<T>()) + raw<uint64_t>(count.value_or(values.size()));
    for (const T value : values) {
      payload += raw<T>(value);
    }
    return add_kv_raw(key, kGgufArray, payload);
  }
  GgufBuilder& add_kv_strings(const std::string& key, const std::vector<std::string>& values,
                              std::optional<uint64_t> count = {}) {
    std::string payload = raw<uint32_t>(kGgufString) + raw<uint64_t>(count.value_or(values.size()));
    for (const std::string& value : values) {
      payload += raw_string(value);
    }
    return add_kv_raw(key, kGgufArray, payload);
  }
  GgufBuilder& set_alignment(uint32_t value) {
    alignment = value;
    return add_kv_u32("general.alignment", value);
  }
  // What every shard of a split model carries; `no` counts from 0. Name: shard_name().
  GgufBuilder& add_split(uint16_t no, uint16_t count, int32_t n_tensors_in_all) {
    add_kv_u16("split.no", no);
    add_kv_u16("split.count", count);
    return add_kv_i32("split.tensors.count", n_tensors_in_all);
  }

  // ---- tensors
  // Bytes a tensor of this type and shape has.
  static uint64_t tensor_bytes(ggml_type type, const std::vector<int64_t>& ne) {
    uint64_t bytes = ggml_row_size(type, ne.at(0));
    for (size_t i = 1; i < ne.size(); ++i) {
      bytes *= static_cast<uint64_t>(ne[i]);
    }
    return bytes;
  }
  GgufBuilder& add_tensor(const std::string& name, ggml_type type, const std::vector<int64_t>& ne,
                          const std::string& bytes) {
    tensors.push_back(
        {name, static_cast<uint32_t>(type), {ne.begin(), ne.end()}, bytes, {}, {}, {}});
    return *this;
  }
  template <typename T>
  GgufBuilder& add_tensor(const std::string& name, ggml_type type, const std::vector<int64_t>& ne,
                          const std::vector<T>& data) {
    static_assert(std::is_trivially_copyable_v<T>);
    return add_tensor(
        name, type, ne,
        std::string(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T)));
  }
  // Filled with bytes that depend on the tensor's place in the table and on the position.
  GgufBuilder& add_tensor(const std::string& name, ggml_type type, const std::vector<int64_t>& ne) {
    std::string bytes(tensor_bytes(type, ne), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(i * 7 + (i >> 8) + tensors.size() * 31 + 1);
    }
    return add_tensor(name, type, ne, bytes);
  }

  // ---- what was added, to break it
  Kv& kv(const std::string& key) {
    for (Kv& entry : kvs) {
      if (entry.key == key) return entry;
    }
    throw std::out_of_range("no key " + key);
  }
  Tensor& tensor(const std::string& name) {
    for (Tensor& entry : tensors) {
      if (entry.name == name) return entry;
    }
    throw std::out_of_range("no tensor " + name);
  }

  // ---- the file
  // Header, metadata and tensor table, without the padding before the data.
  [[nodiscard]] std::string header() const {
    std::string out = magic + raw(version) + raw<uint64_t>(n_tensors.value_or(tensors.size())) +
                      raw<uint64_t>(n_kv.value_or(kvs.size()));
    for (const Kv& entry : kvs) {
      out += raw_string(entry.key, entry.key_length) + raw(entry.type) + entry.payload;
    }
    uint64_t next = 0;
    for (const Tensor& entry : tensors) {
      out += raw_string(entry.name, entry.name_length) +
             raw<uint32_t>(entry.n_dims.value_or(static_cast<uint32_t>(entry.ne.size())));
      for (const uint64_t n : entry.ne) {
        out += raw(n);
      }
      out += raw(entry.type) + raw<uint64_t>(entry.offset.value_or(next));
      next = padded(next + entry.bytes.size());
    }
    return out;
  }
  [[nodiscard]] std::string bytes() const {
    std::string out = header();
    if (!tensors.empty()) {
      out.resize(padded(out.size()), '\0');
    }
    for (const Tensor& entry : tensors) {
      out += entry.bytes;
      out.resize(padded(out.size()), '\0');
    }
    return out;
  }
  void write(const std::filesystem::path& path) const { write_bytes(path, bytes()); }

  static void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems flush a file that is overwritten
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) {
      throw std::runtime_error("cannot write " + path.string());
    }
  }
  // "<prefix>-00001-of-00003.gguf"; `no` counts from 0.
  static std::string shard_name(const std::string& prefix, int no, int count) {
    char tail[40];
    std::snprintf(tail, sizeof(tail), "-%05d-of-%05d.gguf", no + 1, count);
    return prefix + tail;
  }

 private:
  // Broken alignments are for the metadata only; the data then lies as if it were 1.
  [[nodiscard]] uint64_t padded(uint64_t n) const {
    const uint64_t a = alignment == 0 || alignment > (1u << 20) ? 1 : alignment;
    return (n + a - 1) / a * a;
  }
};

}  // namespace runahead::test
