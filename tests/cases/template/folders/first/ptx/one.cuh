__device__ int first_wrapper() { return 1; }
