#include "model/file_kind.h"

#include <array>
#include <string_view>

#include "base/error.h"

namespace runahead {
namespace {

struct OtherKind {
  std::string_view name;  // of the general.type, or how the architecture's name begins
  const char* sentence;
};
constexpr const char* kVision =
    "this is the vision or audio part of a model; choose the file with the language model";
constexpr const char* kMatrix = "this is an importance matrix for quantising, not a model";
constexpr const char* kEmbedder =
    "this is an embedding model: it turns texts into vectors and cannot write";
constexpr const char* kDrafter =
    "this file only drafts tokens for another model; choose the file with that model";
constexpr std::array kOtherTypes{
    OtherKind{"mmproj", kVision},
    OtherKind{"adapter", "this is an adapter (LoRA), which cannot run without its model"},
    OtherKind{"imatrix", kMatrix},
};
constexpr std::array kOtherArchitectures{
    OtherKind{"clip", kVision},
    OtherKind{"imatrix", kMatrix},
    OtherKind{"controlvector", "this is a control vector, which cannot run without its model"},
    OtherKind{"whisper", "this is a model that writes down speech, not a language model"},
    OtherKind{"wavtokenizer-dec", "this is the part of a model that makes sound"},
    OtherKind{"bert", kEmbedder},
    OtherKind{"modern-bert", kEmbedder},
    OtherKind{"nomic-bert", kEmbedder},
    OtherKind{"neo-bert", kEmbedder},
    OtherKind{"jina-bert", kEmbedder},
    OtherKind{"eurobert", kEmbedder},
    OtherKind{"gemma-embedding", kEmbedder},
    OtherKind{"t5encoder", kEmbedder},
    OtherKind{"gemma4-assistant", kDrafter},
    OtherKind{"eagle3", kDrafter},
    OtherKind{"dflash", kDrafter},
};

}  // namespace

void check_is_language_model(const GgufFile& file, const std::string& architecture) {
  const auto refuse = [&](const OtherKind& kind) {
    throw Error(ErrorCode::kUnsupported, file.path().string() + ": " + kind.sentence);
  };
  const std::string type = file.get_string("general.type").value_or("model");
  for (const OtherKind& kind : kOtherTypes) {
    if (type == kind.name) {
      refuse(kind);
    }
  }
  for (const OtherKind& kind : kOtherArchitectures) {
    if (architecture.starts_with(kind.name)) {
      refuse(kind);
    }
  }
}

}  // namespace runahead
