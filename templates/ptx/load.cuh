// load.cuh: loads of 16, 8, 4, 2 and 1 bytes from global memory that no one writes, and from shared memory.
// The streamed ones leave L1 to data that is read again.

__device__ __forceinline__ uint4 ld_global_nc_v4(const void *address) {
    uint4 v;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address));
    return v;
}

// the same, its line under a [policy] of the L2
__device__ __forceinline__ uint4 ld_global_nc_hint_v4(const void *address, uint64_t policy) {
    uint4 v;
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address), "l"(policy));
    return v;
}

__device__ __forceinline__ uint2 ld_global_nc_v2(const void *address) {
    uint2 v;
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(address));
    return v;
}

__device__ __forceinline__ uint32_t ld_global_nc_u32(const void *address) {
    uint32_t v;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(address));
    return v;
}

__device__ __forceinline__ uint32_t ld_global_nc_u16(const void *address) {
    uint16_t v;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(address));
    return v;
}

__device__ __forceinline__ uint8_t ld_global_nc_u8(const void *address) {
    uint16_t v;
    asm("ld.global.nc.u8 %0, [%1];" : "=h"(v) : "l"(address));
    return static_cast<uint8_t>(v);
}

__device__ __forceinline__ float ld_global_nc_f32(const void *address) {
    float v;
    asm("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(address));
    return v;
}

// in the order of what surrounds them, through L1, not through it, and as what is used once
__device__ __forceinline__ uint4 ld_global_v4(const void *address) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
    return v;
}

__device__ __forceinline__ uint4 ld_global_cg_v4(const void *address) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
    return v;
}

// nor kept in it, and of what nobody writes meanwhile
__device__ __forceinline__ uint4 ld_global_na_v4(const void *address) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
    return v;
}

__device__ __forceinline__ uint4 ld_global_cs_v4(const void *address) {
    uint4 v;
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
    return v;
}

__device__ __forceinline__ int64_t mov_clock64() {
    int64_t clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    return clock;
}

// waits for so many clocks of the SM
__device__ __forceinline__ void wait_clocks(int clocks) {
    const int64_t begin = mov_clock64();
    while (mov_clock64() - begin < clocks) {
    }
}

__device__ __forceinline__ uint4 ld_global_nc_no_allocate_v4(const void *address) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address));
    return v;
}

__device__ __forceinline__ uint2 ld_global_nc_no_allocate_v2(const void *address) {
    uint2 v;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(v.x), "=r"(v.y)
        : "l"(address));
    return v;
}

__device__ __forceinline__ uint32_t ld_global_nc_no_allocate_u32(const void *address) {
    uint32_t v;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(address));
    return v;
}

__device__ __forceinline__ uint32_t ld_global_nc_no_allocate_u16(const void *address) {
    uint16_t v;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(address));
    return v;
}

// two floats of the shared window
__device__ __forceinline__ float2 ld_shared_v2(uint32_t address) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}

// [address] is one of the shared window
__device__ __forceinline__ uint4 ld_shared_v4(uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
