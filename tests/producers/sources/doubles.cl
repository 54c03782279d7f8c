// Doubles and conversions from and to them.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    double d = (double)in[i] / 7.0, e = fma(d, 3.0, -0.5);
    ulong bits = as_ulong(floor(e) * 0.25 + sqrt(16.0 * (in[i] & 15) * (in[i] & 15)));
    double2 v = convert_double2((uint2)(in[i], i)) * 0.5;
    out[i * 4] = (uint)bits;
    out[i * 4 + 1] = (uint)(bits >> 32);
    out[i * 4 + 2] = convert_uint_sat_rte(v.x - v.y * 3.0);
    out[i * 4 + 3] = as_uint((float)d) + (d > e) + isnan(d / 0.0 - d / 0.0);
}
