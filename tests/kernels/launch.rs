//! NDRanges: ids and sizes in up to three dimensions, offsets, non-uniform groups, required sizes, kernels without
//! arguments or without work.

use clift_tests::kernel::{Case, GLOBAL, Need};

fn ids() -> Case {
    Case::new(
        "launch::ids_in_one_dimension",
        "kernel void t(global ulong8 *out) {
            size_t i = get_global_id(0) - get_global_offset(0);
            out[i] = (ulong8)(get_global_id(0), get_global_size(0), get_group_id(0) * get_enqueued_local_size(0) + get_local_id(0),
                              get_work_dim(), get_global_id(1), get_global_size(2), get_local_size(1), get_num_groups(2));
        }",
    )
    .expect(|i| [i as u64 + 1000, GLOBAL as u64, i as u64, 1, 0, 1, 1, 1])
    .offset(&[1000])
}

fn hundreds_of_arguments() -> Case {
    const COUNT: usize = 240;
    let name = |k: usize| format!("a{k}");
    let parameters: Vec<_> = (0..COUNT).map(|k| format!("constant int *{}", name(k))).collect();
    let sums: Vec<_> = (0..COUNT).map(|k| format!("out[i] += {}[(i + {k}) & 7];", name(k))).collect();
    let source = format!(
        "kernel void t(global int *out, {}) {{ int i = get_global_id(0); out[i] = i; {} }}",
        parameters.join(", "),
        sums.join(" ")
    );
    let sum = |i: usize| (0..COUNT).map(|k| ((i + k) % 8 * k) as i32).sum::<i32>() + i as i32;
    let case = Case::new("launch::hundreds_of_arguments", source).range(&[24], &[&[8]]).expect(sum);
    (0..COUNT).fold(case, |case, k| case.input_n(8, move |e| (e * k) as i32))
}

fn out_of_range_dimension() -> Case {
    Case::new(
        "launch::queries_of_a_dimension_that_is_none",
        "kernel void t(global ulong8 *out, uint d) {
            out[get_global_id(0)] = (ulong8)(get_global_id(d), get_global_size(d), get_local_id(d), get_local_size(d),
                                             get_group_id(d), get_num_groups(d), get_global_offset(d), get_work_dim());
        }",
    )
    .expect(|_| [0_u64, 1, 0, 1, 0, 1, 0, 1])
    .value(3_u32)
    .clift_only("gives 0 for sizes")
}

fn two_dimensions() -> Case {
    Case::new(
        "launch::two_dimensions_with_offset",
        "kernel void t(global int4 *out) {
            int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
            int index = (y - (int)get_global_offset(1)) * w + x - (int)get_global_offset(0);
            out[index] = (int4)(x, y, (int)(get_group_id(0) * get_enqueued_local_size(0) + get_local_id(0)),
                                (int)(get_group_id(1) * get_enqueued_local_size(1) + get_local_id(1)));
        }",
    )
    .range(&[20, 15], &[&[1, 1], &[4, 5], &[5, 3], &[20, 1], &[1, 15], &[10, 15], &[6, 4], &[7, 15], &[20, 4]])
    .offset(&[100, 7])
    .expect(|i| {
        let (x, y) = (i as i32 % 20, i as i32 / 20);
        [x + 100, y + 7, x, y]
    })
}

/// Rows of one, of fewer work-items than packs have lanes, of whole packs and of something between, all with barriers, local
/// memory and lanes that go different ways.
fn short_rows() -> Case {
    Case::new(
        "launch::short_rows",
        "kernel void t(global int *out, local int *given) {
            local int own[256];
            int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
            int me = y * w + x, all = w * h;
            int here = get_global_id(1) * (int)get_global_size(0) + (int)get_global_id(0);
            int sum = 0;
            for (int k = 0; k < here % 7; ++k) sum += k * here;
            own[me] = sum;
            given[me] = here;
            barrier(CLK_LOCAL_MEM_FENCE);
            // A work-item brings another's results back.
            int other = all - 1 - me, place = given[other];
            out[place] = own[other] + (place % 3 ? 1 : get_global_id(1) >= 0);
        }",
    )
    .range(
        &[48, 8],
        &[
            &[1, 8],
            &[2, 8],
            &[4, 8],
            &[8, 8],
            &[8, 4],
            &[16, 4],
            &[24, 2],
            &[3, 8],
            &[6, 4],
            &[48, 1],
            &[32, 8],
            &[9, 8],
            &[20, 8],
        ],
    )
    .expect(|i| {
        let here = i as i32;
        (0..here % 7).map(|k| k * here).sum::<i32>() + 1
    })
    .local_memory(|_| 256 * 4)
}

fn three_dimensions() -> Case {
    Case::new(
        "launch::three_dimensions",
        "kernel void t(global int8 *out) {
            int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
            int index = (z * (int)get_global_size(1) + y) * (int)get_global_size(0) + x;
            out[index] = (int8)(x, y, z, (int)get_work_dim(), (int)get_global_size(0), (int)get_global_size(1),
                                (int)get_global_size(2), (int)(get_num_groups(2) * get_enqueued_local_size(2) >= get_global_size(2)));
        }",
    )
    .range(&[6, 5, 8], &[&[1, 1, 1], &[2, 5, 2], &[6, 1, 4], &[3, 5, 8], &[4, 2, 3], &[6, 5, 7], &[5, 5, 8]])
    .expect(|i| [i % 6, i / 6 % 5, i / 30, 3, 6, 5, 8, 1].map(|n| n as i32))
}

fn non_uniform() -> Case {
    Case::new(
        "launch::non_uniform_groups_in_two_dimensions",
        "kernel void t(global int4 *out) {
            int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
            out[y * w + x] = (int4)((int)get_local_size(0), (int)get_local_size(1), (int)get_enqueued_local_size(0), (int)get_local_id(1));
        }",
    )
    .range(&[13, 11], &[&[4, 3], &[13, 4], &[5, 11], &[8, 8], &[12, 10]])
    .expect_in(|launch, i| {
        let local = launch.local.clone().unwrap_or_default();
        let (x, y) = (i % 13, i / 13);
        let size = |at: usize, local: usize, global: usize| local.min(global - at / local * local);
        [size(x, local[0], 13), size(y, local[1], 11), local[0], y % local[1]].map(|n| n as i32)
    })
    .stated_local()
    .needs(Need::NonUniform)
}

fn linear_ids() -> Case {
    Case::new(
        "launch::linear_ids",
        "kernel void t(global uint2 *out) {
            out[get_global_linear_id()] = (uint2)(get_global_linear_id(), get_local_linear_id() < get_local_size(0) * get_local_size(1));
        }",
    )
    .range(&[12, 10], &[&[4, 5], &[12, 1], &[3, 2]])
    .expect(|i| [i as u32, 1])
}

fn required_size() -> Case {
    Case::new(
        "launch::required_work_group_size",
        "kernel __attribute__((reqd_work_group_size(16, 1, 1))) void t(global uint2 *out) {
            out[get_global_id(0)] = (uint2)(get_local_size(0), get_local_id(0));
        }",
    )
    .range(&[GLOBAL], &[&[16]])
    .expect(|i| [16_u32, i as u32 % 16])
    .stated_local()
}

fn many_arguments() -> Case {
    let mut source = String::from("kernel void t(global long *out");
    for k in 0..40 {
        source += &format!(", {} a{k}", ["char", "int4", "double", "short3", "ulong"][k % 5]);
    }
    source += ") { size_t i = get_global_id(0); long sum = (long)i;\n";
    for k in 0..40 {
        source += &match k % 5 {
            1 => format!("sum += a{k}.x + 2 * a{k}.w;\n"),
            3 => format!("sum += a{k}.z;\n"),
            _ => format!("sum += (long)a{k};\n"),
        };
    }
    source += "out[i] = sum; }";
    let mut case = Case::new("launch::many_arguments", source).expect(|i| {
        let sum: i64 = (0..40_i64)
            .map(|k| match k % 5 {
                1 => k + 2 * (k + 3),
                _ => k,
            })
            .sum();
        i as i64 + sum
    });
    for k in 0..40_i32 {
        case = match k % 5 {
            0 => case.value(k as i8),
            1 => case.value([k, k + 1, k + 2, k + 3]),
            2 => case.value(f64::from(k)),
            3 => case.value([0, 0, k as i16, 0]),
            _ => case.value(k as u64),
        };
    }
    case.needs(Need::Fp64)
}

fn two_local_arguments() -> Case {
    Case::new(
        "launch::two_local_arguments",
        "kernel void t(global int2 *out, local char *small, local long4 *aligned) {
            local int own[3];
            size_t l = get_local_id(0), i = get_global_id(0);
            small[l] = (char)i;
            aligned[l] = (long4)(i);
            own[l % 3] = 5;
            barrier(CLK_LOCAL_MEM_FENCE);
            size_t n = get_local_size(0), other = n - 1 - l;
            out[i] = (int2)(small[other] == (char)(i - l + other) && aligned[other].w == (long)(i - l + other), ((ulong)aligned & 31) == 0);
        }",
    )
    .expect(|_| [1, 1])
    .local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local[0]))
    .local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local[0]) * 32)
}

/// Enough groups that several workers take part, each group doing a different amount of work.
fn many_groups() -> Case {
    Case::new(
        "launch::uneven_work",
        "kernel void t(global uint *out) {
            uint i = get_global_id(0), x = i;
            for (uint k = 0; k < (i >> 4) % 97; ++k) x = x * 1664525u + 1013904223u;
            out[i] = x;
        }",
    )
    .range(&[20_000], &[&[1], &[10], &[1000]])
    .expect(|i| (0..(i >> 4) % 97).fold(i as u32, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
}

fn empty_kernel() -> Case {
    Case::new("launch::empty_kernel", "kernel void t(void) { }")
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ids(),
        hundreds_of_arguments(),
        out_of_range_dimension(),
        two_dimensions(),
        short_rows(),
        three_dimensions(),
        non_uniform(),
        linear_ids(),
        required_size(),
        many_arguments(),
        two_local_arguments(),
        many_groups(),
        empty_kernel(),
    ]
}
