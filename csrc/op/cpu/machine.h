// What the processor has beyond an instruction set, and what helps it.
#pragma once

#include <cstdint>

namespace infiniop::cpu {

// How many threads the device computes with.
int64_t processors();

// Whether it multiplies pairs of BF16 at once (AVX512-BF16).
bool multiplies_pairs();

// Whether it has registers of whole tiles for products of BF16 (AMX). Such machines multiply pairs at no more than the speed of floats.
bool multiplies_tiles();

// The same for products of 8 bits, and the instruction for few rows of them (int8_vnni.h). Processors that have the one have the others, and the trial of
// the one is that of both.
bool multiplies_byte_tiles();

// Whether asking for memory before it is needed helps loops over operands that lie in rows. Intel's processors foresee what comes next in a page of
// memory, but not the next page; AMD's (measured: Zen 4) foresee both, and what is asked for on top takes a quarter of an addition's speed.
bool asks_ahead();

// Whether rows are faster if the memory of their results is asked for, too, while a pass goes over them that waits for memory itself. Not on Intel's
// processors with AMX (rms_norm of 512 rows of 4096 floats: 790 us, without 660); with a pass that computes, as that of softmax, everywhere.
bool asks_for_light_results();

// Whether loops that wait for memory are faster with vectors of 32 bytes than of 64: on AMD's Zen 4, whose data paths have 32, by a sixth to a fifth
// (a sum of two tensors of 8 MiB, from the shared cache and from memory).
bool halves_vectors();

// Whether short rows that lie apart are read about as fast as what lies side by side, so that rows which change their order are copied in the order in which
// they are written. On AMD's Zen 5 (8 MiB of heads of 512 bytes: 117 us, in tiles of eight rows 135); not on Zen 4.
bool follows_rows();

// Whether results of element-wise operators and copies that do not fit into the caches are written past them (streaming.h). Not on AMD's Zen 5, where relu
// of 32 MiB by one thread takes 1.9 to 2.7 ms like that and 1.1 otherwise, and sums of two tensors take the same; fills gain there, too.
bool streams_results();

}  // namespace infiniop::cpu
