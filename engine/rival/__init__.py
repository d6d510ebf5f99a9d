"""llama.cpp itself as a rival: both engines in child processes under the same memory limit."""
