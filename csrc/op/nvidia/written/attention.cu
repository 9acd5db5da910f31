// The kernels of attention, by the ways in attention*.cuh, which stand before this text.
extern "C" __global__ void attend_rows(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::attend_rows(a); }

#if defined(INFINIOP_ATTENTION_CACHED)
extern "C" __global__ void store_new(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::store_new(a); }
#endif

#if INFINIOP_ROW_THREADS > 0
extern "C" __global__ void __launch_bounds__(128) attend_split(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::SplitKernel<INFINIOP_ROW_THREADS>::run(a);
}
// gridDim.z: how many chunks there are; one block for each query does the work of all.
extern "C" __global__ void combine_split(const __grid_constant__ infiniop::WrittenArguments a) {
  if (blockIdx.z == 0) infiniop::SplitKernel<INFINIOP_ROW_THREADS>::combine(a, gridDim.z);
}
#endif

#if INFINIOP_STREAM_SIZE > 0
extern "C" __global__ void __launch_bounds__(128) attend_stream(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::StreamKernel<INFINIOP_STREAM_SIZE>::run(a);
}
#endif

#if INFINIOP_TILE_SIZE > 0
extern "C" __global__ void __launch_bounds__(128) attend_tiles(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::TileKernel<INFINIOP_TILE_SIZE>::run(a);
}
#endif
