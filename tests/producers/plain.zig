const gpu = @import("std").gpu;
export fn t(out: [*]addrspace(.global) u32, in: [*]addrspace(.global) const u32) callconv(.spirv_kernel) void {
    const i = gpu.global_invocation_id[0];
    out[i * 4] = in[i] *% 3 +% 1;
    out[i * 4 + 1] = if (in[i ^ 1] < in[i]) 5 else in[i] >> 2;
    var sum: u32 = 0;
    var k: u32 = 0;
    while (k < (in[i] & 15)) : (k += 1) sum = sum *% 7 +% in[(i + k) & 63];
    out[i * 4 + 2] = sum;
}
