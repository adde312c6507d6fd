__device__ int second_wrapper() { return 1; }
