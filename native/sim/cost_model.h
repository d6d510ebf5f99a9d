// sim/cost_model.h
//
// CostModel says how long things take on a machine, measured or made up.

#pragma once

#include <cstdint>

namespace runahead {

struct CostModel {
  double front_ms = 0;            // attention and router of layer 0, all requests together: fixed,
  double front_request_ms = 0;    //   and per request
  double group_ms = 0;            // a group: fixed,
  double expert_ms = 0;           //   and per distinct expert,
  double job_ms = 0;              //   and per job
  double head_ms = 0;             // LM head and sampling, all requests together: fixed,
  double head_request_ms = 0;     //   and per request
  double link_bytes_per_s = 1e9;  // of all reads together
  bool link_in_order = false;     // one read after the other, as LinkPace does; else shared evenly
  double link_latency_ms = 0;     // of every read, before its bytes flow; latencies overlap
  int32_t n_readers = 8;          // reads in flight at most
  // While bytes flow over the link, compute takes 1 + interference times as long; 0: they share
  // nothing.
  double interference = 0;

  // Throws Error(kInvalid) naming the field that is negative, not a number, or zero where it must
  // not be.
  void validate() const;
};

}  // namespace runahead
