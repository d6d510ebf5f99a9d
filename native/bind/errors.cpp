// bind/errors.cpp: one Error, one exception: NativeError(code, message).

#include "base/error.h"
#include "bind/bindings.h"
#include "bind/text.h"

namespace nb = nanobind;

namespace runahead {

void bind_errors(nb::module_& m) {
  static nb::exception<Error> native_error(m, "NativeError");
  native_error.doc() = "args: (code, message); codes as in base/error.h, for example 'bad_file'";
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void* type) {
        try {
          std::rethrow_exception(p);
        } catch (const Error& error) {
          nb::tuple args = nb::make_tuple(name_of(error.code()), text(error.what()));
          PyErr_SetObject(static_cast<PyObject*>(type), args.ptr());
        }
      },
      native_error.ptr());
}

}  // namespace runahead
