// Transposes a matrix by tiles in local memory, so that both reads and writes go along rows.
#define TILE 16

kernel void transpose_tiled(global const float *in, global float *out, int width, int height)
{
    local float tile[TILE][TILE + 1];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_group_id(0) * TILE + lx;
    int y = get_group_id(1) * TILE + ly;
    tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + lx;
    y = get_group_id(0) * TILE + ly;
    out[y * height + x] = tile[lx][ly];
}
