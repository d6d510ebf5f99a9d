#!/bin/sh
# Checks that this system has what Runahead is built and tested with. As root on Debian or Ubuntu it
# installs what is missing; otherwise it says what is missing and the command that installs it.
set -eu

python=${PYTHON:-python3}
missing=""  # one line per missing thing
debian=""   # Debian packages that bring them
homebrew="" # the same for macOS
# Homebrew's headers are outside the compiler's own search path on Apple silicon.
if command -v brew >/dev/null 2>&1; then
  CPATH="$(brew --prefix)/include${CPATH:+:$CPATH}"
  export CPATH
fi

lacks() { # what, Debian packages, Homebrew packages
  missing="$missing  - $1
"
  debian="$debian $2"
  homebrew="$homebrew $3"
}

compiles() { # a C++20 translation unit
  printf '%s\n' "$1" | "${CXX:-c++}" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null
}

at_least() { # version, wanted: compares major.minor
  [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
  [ "${1%%.*}" -eq "${2%%.*}" ] || return 1
  minor=${1#*.}
  [ "${minor%%.*}" -ge "${2#*.}" ]
}

# What Qt takes from the system for a window on Linux, and the Debian package that brings it. Tests
# without a screen need the first lines too.
qt_libraries="
libEGL.so.1 libegl1
libGL.so.1 libgl1
libfontconfig.so.1 libfontconfig1
libdbus-1.so.3 libdbus-1-3
libglib-2.0.so.0 libglib2.0-0
libgssapi_krb5.so.2 libgssapi-krb5-2
libxkbcommon.so.0 libxkbcommon0
libxkbcommon-x11.so.0 libxkbcommon-x11-0
libX11-xcb.so.1 libx11-xcb1
libxcb-cursor.so.0 libxcb-cursor0
libxcb-icccm.so.4 libxcb-icccm4
libxcb-image.so.0 libxcb-image0
libxcb-keysyms.so.1 libxcb-keysyms1
libxcb-render-util.so.0 libxcb-render-util0
libxcb-xinerama.so.0 libxcb-xinerama0
libxcb-shape.so.0 libxcb-shape0
libxcb-randr.so.0 libxcb-randr0
libxcb-sync.so.1 libxcb-sync1
libxcb-xfixes.so.0 libxcb-xfixes0
"

without_libraries() { # the Debian packages of those that cannot be loaded
  # shellcheck disable=SC2086  # a list of words
  "$python" -c 'import ctypes, sys
for library, package in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        ctypes.CDLL(library)
    except OSError:
        print(package)' $qt_libraries
}

look() {
  missing="" debian="" homebrew=""
  if ! compiles '#include <compare>
#include <concepts>
#include <span>
#include <thread>
std::jthread* any;'; then
    lacks "a C++20 compiler with its library (${CXX:-c++} is missing or too old; GCC 12 or newer)" "g++" "llvm"
  else
    compiles '#include <doctest/doctest.h>' || lacks "doctest (the header doctest/doctest.h)" "doctest-dev" "doctest"
    compiles '#include <xxhash.h>' || lacks "xxHash (the header xxhash.h)" "libxxhash-dev" "xxhash"
  fi
  cmake_version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  at_least "${cmake_version:-0.0}" 3.25 ||
    lacks "CMake 3.25 or newer (found: ${cmake_version:-none}; where the system's is older: pipx install cmake)" "cmake" "cmake"
  command -v ninja >/dev/null 2>&1 || command -v make >/dev/null 2>&1 ||
    lacks "ninja or make" "ninja-build" "ninja"
  python_version=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null || true)
  if ! at_least "${python_version:-0.0}" 3.11; then
    lacks "Python 3.11 or newer ($python is ${python_version:-missing}; name another with PYTHON=...)" "python3 python3-venv python3-dev" "python"
  else
    "$python" -c 'import venv, ensurepip' 2>/dev/null || lacks "Python's venv module" "python3-venv" "python"
    "$python" -c 'import pathlib, sysconfig, sys
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file())' ||
      lacks "Python's C headers (Python.h of $python)" "python3-dev" "python"
    if [ "$(uname -s)" = Linux ]; then
      absent=$(without_libraries | tr '\n' ' ')
      [ -z "$absent" ] || lacks "libraries that the window needs (packages ${absent% })" "${absent% }" ""
    fi
  fi
}

explain() {
  printf '%s\n%s' "Runahead needs these, and this system lacks them:" "$missing" >&2
  if command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "Install them with:  sudo apt-get install -y$debian" >&2
  elif command -v brew >/dev/null 2>&1; then
    printf '%s\n' "Install them with:  brew install$homebrew" >&2
  fi
}

look
[ -z "$missing" ] && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
  printf '%s\n%s' "Installing with apt-get:" "$missing"
  apt-get update -qq
  # shellcheck disable=SC2086  # a list of packages
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $debian
  look
fi
[ -z "$missing" ] || { explain; exit 1; }
