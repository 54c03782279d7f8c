// Atomic functions with orders and scopes. std: CL2.0
kernel void t(global uint *out, global const uint *in) {
    local atomic_int sum;
    local atomic_uint flag;
    size_t i = get_global_id(0), l = get_local_id(0);
    if (l == 0) { atomic_init(&sum, 0); atomic_init(&flag, 0); }
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_add_explicit(&sum, (int)in[i], memory_order_relaxed, memory_scope_work_group);
    uint seen = 0;
    while (!atomic_compare_exchange_weak(&flag, &seen, seen + 3)) { }
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    global atomic_uint *counter = (global atomic_uint *)&out[255];
    if (i >= 32) atomic_fetch_max_explicit(counter, in[i], memory_order_acq_rel, memory_scope_device);
    if (i < 62) {
        out[i * 4] = atomic_load(&sum);
        out[i * 4 + 1] = atomic_load_explicit(&flag, memory_order_acquire, memory_scope_work_group);
        atomic_store_explicit((global atomic_uint *)&out[i * 4 + 2], (uint)i, memory_order_release, memory_scope_device);
        out[i * 4 + 3] = atomic_exchange((global atomic_uint *)&out[i * 4 + 3], 9) + 1;
    }
}
