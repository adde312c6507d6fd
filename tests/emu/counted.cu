// y[i] = x[i] + 1 for i < n, in blocks of 256 threads that meet at a barrier without a count; threads behind n
// return before it. With a count of 256 those that returned are waited for, and all stand still.

extern "C" __global__ void __launch_bounds__(256) counted(const float *x, float *y, int n) {
    __shared__ float row[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    row[threadIdx.x] = x[i];
    asm volatile("barrier.sync 1;" ::: "memory");
    y[i] = row[threadIdx.x] + 1;
}
