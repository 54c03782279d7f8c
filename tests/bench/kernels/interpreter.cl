// A small register machine: every work-item runs one of several programs on its own registers.
enum { ADD, SUB, MUL, XOR, SHIFT, LOAD, MOVE, LOOP, HALT };

typedef struct {
    uchar op;
    uchar target;
    uchar source;
    uchar immediate;
} Instruction;

kernel void interpreter(global const Instruction *programs, int program_length, int program_count,
                        global const uint *data, uint data_mask, global uint *results)
{
    int gid = get_global_id(0);
    global const Instruction *program = programs + (gid % program_count) * program_length;
    uint r[4];
    r[0] = gid;
    r[1] = gid * 3 + 1;
    r[2] = 5;
    r[3] = 64 + gid % 7;
    int pc = 0;
    bool running = true;
    while (running) {
        Instruction in = program[pc++];
        switch (in.op) {
        case ADD:
            r[in.target] += r[in.source] + in.immediate;
            break;
        case SUB:
            r[in.target] -= r[in.source];
            break;
        case MUL:
            r[in.target] *= r[in.source] | 1;
            break;
        case XOR:
            r[in.target] ^= r[in.source] + in.immediate;
            break;
        case SHIFT:
            r[in.target] = r[in.target] >> (in.immediate & 31) | r[in.target] << (-in.immediate & 31);
            break;
        case LOAD:
            r[in.target] = data[(r[in.source] + in.immediate) & data_mask];
            break;
        case MOVE:
            r[in.target] = r[in.source];
            break;
        case LOOP:
            if (--r[3] != 0)
                pc = in.immediate;
            break;
        default:
            running = false;
            break;
        }
    }
    results[gid] = r[0] ^ r[1] ^ r[2];
}
