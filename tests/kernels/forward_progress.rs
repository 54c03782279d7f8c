//! Sub-groups of a work-group that wait for one another in loops: they make progress independently of each other, in whatever
//! order they run.

use std::fmt::Write;

use clift_tests::kernel::{Case, GLOBAL, Need};

/// Steps of a generated program.
const STEPS: usize = 24;
/// Words of memory that each work-group has.
const WORDS: usize = 16;
/// Generated programs.
const PROGRAMS: u64 = 24;

/// How a sub-group waits until it is step `i`'s turn. The last two are for one of its work-items only: they take something.
const WAITS: [&str; 8] = [
    "while (atomic_load_explicit((A atomic_int *)turn, memory_order_acquire, SCOPE) != i) ;",
    "while (*turn != i) ; work_group_mem_fence();",
    "while (atomic_add(turn, 0) < i) ;",
    "do mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); while (*(A int *)turn != i);",
    "for (int k = 0; k < 2000000000 && *turn != i; ++k) ;",
    "for (bool done = false; !done; ) if (*turn >= i) { if (atomic_or(turn, 0) == i) done = true; }",
    "while (atomic_cmpxchg(turn, i, i + 1000) != i) ; *turn = i;",
    "{ int k = 0; while (slots[k] != i) k = (k + 1) & 7; slots[k] = -1; }",
];

/// A program of steps that the sub-groups execute in turns, each a step when the one before is done. What waits, how, and in
/// which memory, depends on `seed`.
fn turns(seed: u64) -> Case {
    let mut rng = fastrand::Rng::with_seed(seed);
    let space = ["local", "global"][rng.usize(..2)];
    let scope = ["memory_scope_work_group", "memory_scope_device"][rng.usize(..2)];
    let whole = rng.bool();
    let mut body = String::new();
    let mut expected = 7_i32;
    let owner_of = rng.i32(1..50);
    for number in 0..rng.usize(2..4) {
        let wait = WAITS[rng.usize(..if whole { WAITS.len() - 2 } else { WAITS.len() })];
        let (first, last) = (number * STEPS, (number + 1) * STEPS);
        let factor = rng.i32(2..9);
        let leader = if whole { "" } else { "if (get_sub_group_local_id() == 0) " };
        let _ = write!(
            body,
            "for (int i = {first}; i < {last}; ++i) {{
                if ((i * {owner_of}) % get_num_sub_groups() == get_sub_group_id()) {{
                    {leader}{{ {wait} }}
                    sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                    kept += *sum;
                    if (get_sub_group_local_id() == 0) {{
                        *sum = *sum * {factor} + i;
                        slots[i & 7] = i + 1;
                        atomic_store_explicit((A atomic_int *)turn, i + 1, memory_order_release, SCOPE);
                    }}
                    sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                }}
            }}
            "
        );
        for i in first..last {
            expected = expected.wrapping_mul(factor).wrapping_add(i as i32);
        }
        match rng.usize(..3) {
            0 => body += "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
            1 => body += "all += work_group_reduce_add(1) == get_local_size(0);\n",
            _ => {}
        }
        // Only one wait may take the mark of each step.
        let _ = writeln!(body, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
    }
    let memory =
        if space == "local" { "local int own[16];" } else { "global int *own = memory + get_group_id(0) * 16;" };
    let source = format!(
        "#define A {space}
        #define SCOPE {scope}
        #define work_group_mem_fence() atomic_work_item_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_order_acquire, SCOPE)
        kernel void t(global int *o, global int *memory) {{
            {memory}
            volatile A int *turn = own, *sum = own + 1, *slots = own + 2;
            int kept = 0, all = 0;
            if (get_local_id(0) == 0) {{ *turn = 0; *sum = 7; for (int k = 0; k < 8; ++k) slots[k] = -1; slots[0] = 0; }}
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            {body}
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            o[get_global_id(0)] = kept == 0x12345 ? all : *sum;
        }}"
    );
    Case::new(format!("forward_progress::turns_{seed}"), source)
        .expect(move |_| expected)
        .judge(GLOBAL * WORDS, 0_i32, |_, _| Ok(()))
        .needs(Need::SubGroups)
}

/// One sub-group produces, the last one consumes, through a ring of four places.
fn ring() -> Case {
    Case::new(
        "forward_progress::ring",
        "kernel void t(global int *o) {
            local atomic_int head, tail;
            local volatile int ring[4];
            local int sum;
            if (get_local_id(0) == 0) { atomic_init(&head, 0); atomic_init(&tail, 0); sum = 0; }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (get_num_sub_groups() > 1) {
                if (get_sub_group_id() == 0) {
                    for (int i = 0; i < 100; ++i) {
                        if (get_sub_group_local_id() == 0) {
                            while (i - atomic_load(&tail) >= 4) ;
                            ring[i & 3] = i * i;
                            atomic_store(&head, i + 1);
                        }
                    }
                } else if (get_sub_group_id() == get_num_sub_groups() - 1) {
                    if (get_sub_group_local_id() == 0) {
                        int s = 0;
                        for (int i = 0; i < 100; ++i) {
                            while (atomic_load(&head) <= i) ;
                            s += ring[i & 3];
                            atomic_store(&tail, i + 1);
                        }
                        sum = s;
                    }
                }
            } else if (get_local_id(0) == 0) {
                sum = 328350;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            o[get_global_id(0)] = sum;
        }",
    )
    .expect(|_| 328_350_i32)
    .needs(Need::SubGroups)
}

/// A lock that a sub-group keeps while it waits for another one, which does not need it.
fn lock_kept_while_waiting() -> Case {
    Case::new(
        "forward_progress::lock_kept_while_waiting",
        "kernel void t(global int *o) {
            local volatile int lock, ready, sum;
            if (get_local_id(0) == 0) { lock = 0; ready = 0; sum = 0; }
            barrier(CLK_LOCAL_MEM_FENCE);
            int last = get_num_sub_groups() - 1;
            if (get_sub_group_id() != last) {
                if (get_sub_group_local_id() == 0) while (atomic_cmpxchg(&lock, 0, 1) != 0) ;
                sub_group_barrier(CLK_LOCAL_MEM_FENCE);
                if (get_sub_group_local_id() == 0) { while (ready == 0) ; sum += 1; }
                sub_group_barrier(CLK_LOCAL_MEM_FENCE);
                if (get_sub_group_local_id() == 0) atomic_xchg(&lock, 0);
            } else if (get_sub_group_local_id() == 0) {
                ready = 1;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            o[get_global_id(0)] = sum == last;
        }",
    )
    .expect(|_| 1_i32)
    .needs(Need::SubGroups)
}

/// Work-items, from the last one of each group to the first. Nothing promises this for work-items of one sub-group, but where
/// packs would prevent it, a kernel has one lane.
fn backwards() -> Case {
    Case::new(
        "forward_progress::backwards",
        "kernel void t(volatile global int *flag, global int *o) {
            int l = get_local_id(0), i = get_global_id(0), n = get_local_size(0);
            double big[4] = {l + 1, n, i + 1, 1};
            if (l + 1 < n) while (flag[i + 1] == 0) ;
            o[i] = l + 1 < n ? o[i + 1] + big[l & 3] / big[l & 3] : 1;
            mem_fence(CLK_GLOBAL_MEM_FENCE);
            flag[i] = 1;
        }",
    )
    .update(GLOBAL, |_| 0_i32, |_, _| Some(1))
    .expect_in(|launch, i| {
        let start = launch.group_start_of(i);
        (start + launch.group_size_of(i) - i) as i32
    })
    .stated_local()
    .clift_only("other drivers may run work-items of a sub-group in any order")
}

/// All cases of this class.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..PROGRAMS).map(turns).collect();
    cases.extend([ring(), lock_kept_while_waiting(), backwards()]);
    cases
}
