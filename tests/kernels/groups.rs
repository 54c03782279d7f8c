//! Collective functions of work-groups and sub-groups.
//!
//! The results of work-group functions follow from the size of the work-group. The driver decides how a work-group is divided
//! into sub-groups, so kernels with sub-groups record in local memory which work-item is where and which take part, compute the
//! expected result of a function from that, and report one bit for each comparison that succeeded.

use clift_tests::kernel::{Case, Element, Launch, Need};
use clift_tests::values::spread;

/// A small value, never negative.
fn small(i: usize) -> i64 {
    (spread(77, i) % 1001) as i64
}

/// The items of the group that `i` is in, as indices.
fn group(launch: &Launch, i: usize) -> std::ops::Range<usize> {
    let start = launch.group_start_of(i);
    start..start + launch.group_size_of(i)
}

/// Nine functions on one type. `number` makes the host's value of a number; `bounds` are what minimum and maximum begin with.
fn of_type<T: Element>(name: &str, number: fn(i64) -> T, bounds: (T, T), signed: bool) -> Case {
    let value = move |i: usize| small(i) - if signed { 500 } else { 0 };
    let (largest, smallest) = bounds;
    let case = Case::new(
        format!("groups::work_group_{name}"),
        format!(
            "kernel void t(global const {name} *a, global {name} *out) {{
                size_t i = get_global_id(0);
                {name} x = a[i];
                out += 9 * i;
                out[0] = work_group_reduce_add(x);
                out[1] = work_group_reduce_min(x);
                out[2] = work_group_reduce_max(x);
                out[3] = work_group_scan_inclusive_add(x);
                out[4] = work_group_scan_inclusive_min(x);
                out[5] = work_group_scan_inclusive_max(x);
                out[6] = work_group_scan_exclusive_add(x);
                out[7] = work_group_scan_exclusive_min(x);
                out[8] = work_group_scan_exclusive_max(x);
            }}"
        ),
    );
    case.input(move |i| number(value(i)))
        .judge(9 * clift_tests::kernel::GLOBAL, number(0), move |launch, got| {
            for (i, got) in got.chunks_exact(9).enumerate() {
                let group = group(launch, i);
                let all = || group.clone().map(value);
                let so_far = || (group.start..=i).map(value);
                let before = || (group.start..i).map(value);
                let or = |value: Option<i64>, other: T| value.map_or(other, number);
                let want = [
                    number(all().sum()),
                    or(all().min(), largest),
                    or(all().max(), smallest),
                    number(so_far().sum()),
                    or(so_far().min(), largest),
                    or(so_far().max(), smallest),
                    number(before().sum()),
                    or(before().min(), largest),
                    or(before().max(), smallest),
                ];
                if bytemuck::cast_slice::<T, u8>(&want) != bytemuck::cast_slice::<T, u8>(got) {
                    return Err(format!("item {i}: want {want:?}, got {got:?}"));
                }
            }
            Ok(())
        })
        .stated_local()
        .needs(Need::WorkGroupFunctions)
}

fn votes() -> Case {
    Case::new(
        "groups::work_group_votes",
        "kernel void t(global const int *a, global int *out) {
            size_t i = get_global_id(0);
            out[i] = work_group_all(a[i] >= 0) + 2 * work_group_all(a[i] > 500) + 4 * work_group_any(a[i] > 990)
                + 8 * work_group_any(a[i] < 0);
        }",
    )
    .input(|i| small(i) as i32)
    .expect_in(|launch, i| {
        let values = || group(launch, i).map(small);
        1 + 2 * i32::from(values().all(|v| v > 500)) + 4 * i32::from(values().any(|v| v > 990))
    })
    .stated_local()
    .needs(Need::WorkGroupFunctions)
}

/// From each item of the group in turn, in one, two and three dimensions.
fn broadcasts(dims: usize) -> Case {
    let id = ["x", "x, y", "x, y, z"][dims - 1];
    let case = Case::new(
        format!("groups::work_group_broadcast_{dims}"),
        format!(
            "kernel void t(global const float *a, global float *out) {{
                size_t i = get_global_linear_id();
                float sum = 0;
                for (size_t z = 0; z < get_local_size(2); z++)
                    for (size_t y = 0; y < get_local_size(1); y++)
                        for (size_t x = 0; x < get_local_size(0); x++)
                            sum = sum * 2 + work_group_broadcast(a[i], {id});
                double d = work_group_broadcast((double)sum, get_local_size(0) - 1);
                out[i] = (float)d;
            }}"
        ),
    );
    let shape: ([usize; 3], &[&[usize]]) = match dims {
        1 => ([24, 1, 1], &[&[1], &[3], &[8], &[12]]),
        2 => ([6, 4, 1], &[&[3, 4], &[6, 2], &[1, 4], &[2, 2]]),
        _ => ([4, 3, 2], &[&[2, 3, 2], &[4, 1, 2], &[1, 3, 1]]),
    };
    let (global, locals) = shape;
    case.range(&global[..dims], locals)
        .input(|i| (small(i) % 4) as f32)
        .expect_in(move |launch, i| {
            let mut local = [1; 3];
            for (to, from) in local.iter_mut().zip(launch.local.iter().flatten()) {
                *to = *from;
            }
            let id = [i % global[0], i / global[0] % global[1], i / global[0] / global[1]];
            let start: Vec<usize> = (0..3).map(|d| id[d] / local[d] * local[d]).collect();
            let mut sum = 0.0_f32;
            for z in 0..local[2] {
                for y in 0..local[1] {
                    for x in 0..local[0] {
                        let at = ((start[2] + z) * global[1] + start[1] + y) * global[0] + start[0] + x;
                        sum = sum * 2.0 + (small(at) % 4) as f32;
                    }
                }
            }
            sum
        })
        .stated_local()
        .needs(Need::WorkGroupFunctions)
}

/// Functions in loops whose number of rounds they decide themselves, under conditions that memory decides, in a function of
/// its own, with values that live across them.
fn in_control_flow() -> Case {
    Case::new(
        "groups::work_group_in_control_flow",
        "int rounds(int x, global int *log) {
            int n = 0;
            while (work_group_any(x > 0)) {
                x = x / 2;
                n++;
                log[0] = n;
            }
            return n;
        }
        kernel void t(global const int *a, global int *out, global int *log) {
            size_t i = get_global_id(0);
            int x = a[i];
            log += i;
            log[0] = 0;
            int n = rounds(x, log);
            int sum = 0;
            for (int k = 0; k < log[0]; k++) {
                int before = work_group_scan_exclusive_add(x);
                int all = work_group_reduce_add(x & (k + 1));
                if (all & 1)
                    sum += work_group_reduce_max(before ^ k);
                else
                    sum -= before;
                x += k;
            }
            out[i] = sum + 1000 * n;
        }",
    )
    .input(|i| small(i) as i32)
    .expect_in(|launch, i| {
        let items = group(launch, i);
        let mut x: Vec<i32> = items.clone().map(|i| small(i) as i32).collect();
        let n = x.iter().map(|x| 32 - x.leading_zeros()).max().unwrap_or(0) as i32;
        let mut sums = vec![0; x.len()];
        for k in 0..n {
            let before: Vec<i32> = (0..x.len()).map(|l| x[..l].iter().sum()).collect();
            let all: i32 = x.iter().map(|x| x & (k + 1)).sum();
            let most = before.iter().map(|b| b ^ k).max().unwrap_or(0);
            for (sum, before) in sums.iter_mut().zip(&before) {
                *sum += if all & 1 == 1 { most } else { -before };
            }
            x.iter_mut().for_each(|x| *x += k);
        }
        sums[i - items.start] + 1000 * n
    })
    .update(clift_tests::kernel::GLOBAL, |_| 0_i32, |_, _| None)
    .stated_local()
    .needs(Need::WorkGroupFunctions)
}

/// What kernels about sub-groups begin with: who is where (`sg`, `li`), and values that others look at (`v`), for up to 256
/// items.
const HEAD: &str = "
    #define FOR_MEMBERS(m) for (uint m = 0; m < n; m++) if (sg[m] == get_sub_group_id() && here[m])
    #define SAY(k, holds) ok |= (uint)((holds) != 0) << (k)
    #define PUBLISH(active, value) \\
        barrier(CLK_LOCAL_MEM_FENCE); v[l] = (value); here[l] = (active); barrier(CLK_LOCAL_MEM_FENCE)
";

/// A kernel about sub-groups. The body has `x`, the item's value of the type; `n`, `l`, its group's size and its linear id; and
/// sets bits of `ok`.
fn sub_groups(name: &str, ty: &str, bits: u32, body: &str) -> Case {
    Case::new(
        format!("groups::sub_group_{name}"),
        format!(
            "{HEAD}
            kernel void t(global const int *a, global uint *out) {{
                local {ty} v[256];
                local uint sg[256], li[256];
                local uchar here[256];
                uint n = get_local_size(0) * get_local_size(1) * get_local_size(2), l = get_local_linear_id(), ok = 0;
                sg[l] = get_sub_group_id();
                li[l] = get_sub_group_local_id();
                {ty} x = ({ty})a[get_global_linear_id()];
                {body}
                out[get_global_linear_id()] = ok;
            }}"
        ),
    )
    .input(|i| small(i) as i32 % 100)
    .expect(move |_| if bits == 32 { u32::MAX } else { (1 << bits) - 1 })
    .needs(Need::SubGroups)
}

fn places() -> Case {
    sub_groups(
        "places",
        "int",
        10,
        "PUBLISH(1, 0);
        uint members = 0, same = 0, groups = 0, largest = 0;
        FOR_MEMBERS(m) { members++; same += li[m] == get_sub_group_local_id(); }
        for (uint m = 0; m < n; m++) groups = max(groups, sg[m] + 1);
        SAY(0, members == get_sub_group_size());
        SAY(1, same == 1);
        SAY(2, groups == get_num_sub_groups());
        SAY(3, get_sub_group_size() <= get_max_sub_group_size());
        SAY(4, get_sub_group_local_id() < get_sub_group_size());
        SAY(5, get_enqueued_num_sub_groups() >= get_num_sub_groups());
        SAY(6, get_max_sub_group_size() > 0);
        uint max_size = get_max_sub_group_size();
        SAY(7, get_sub_group_id() == l / max_size && get_sub_group_local_id() == l % max_size);
        SAY(8, get_num_sub_groups() == (n + max_size - 1) / max_size);
        SAY(9, get_sub_group_size() == (get_sub_group_id() == n / max_size ? n % max_size : max_size));",
    )
}

/// Reductions, scans and broadcasts that all items come to.
fn uniform(ty: &str) -> Case {
    sub_groups(
        &format!("functions_{ty}"),
        ty,
        10,
        &format!(
            "PUBLISH(1, x);
            {ty} all = 0, most = x, least = x, upto = 0, before = 0, most_upto = x, first = 0, last = 0;
            FOR_MEMBERS(m) {{
                all += v[m];
                most = max(most, v[m]);
                least = min(least, v[m]);
                if (li[m] <= get_sub_group_local_id()) {{ upto += v[m]; most_upto = max(most_upto, v[m]); }}
                if (li[m] < get_sub_group_local_id()) before += v[m];
                if (li[m] == 0) first = v[m];
                if (li[m] == get_sub_group_size() - 1) last = v[m];
            }}
            SAY(0, sub_group_reduce_add(x) == all);
            SAY(1, sub_group_reduce_max(x) == most);
            SAY(2, sub_group_reduce_min(x) == least);
            SAY(3, sub_group_scan_inclusive_add(x) == upto);
            SAY(4, sub_group_scan_inclusive_max(x) == most_upto);
            SAY(5, sub_group_scan_exclusive_add(x) == before);
            SAY(6, sub_group_broadcast(x, 0) == first);
            SAY(7, sub_group_broadcast(x, get_sub_group_size() - 1) == last);
            SAY(8, sub_group_all(x == all) == (all == most && get_sub_group_size() == 1 || all == 0 && most == 0));
            SAY(9, sub_group_any(x == most));"
        ),
    )
}

fn ballots() -> Case {
    sub_groups(
        "ballots",
        "int",
        15,
        "PUBLISH(1, x);
        uint votes = 0, upto = 0, before = 0, low = 999, high = 0, two = 0;
        FOR_MEMBERS(m) if (v[m] & 1) {
            votes++;
            upto += li[m] <= get_sub_group_local_id();
            before += li[m] < get_sub_group_local_id();
            low = min(low, li[m]);
            high = max(high, li[m]);
            two |= li[m] == 2 % get_sub_group_size();
        }
        uint4 b = sub_group_ballot(x & 1);
        uint id = get_sub_group_local_id(), size = get_max_sub_group_size();
        SAY(0, sub_group_ballot_bit_count(b) == votes);
        SAY(1, sub_group_ballot_inclusive_scan(b) == upto);
        SAY(2, sub_group_ballot_exclusive_scan(b) == before);
        SAY(3, !votes || sub_group_ballot_find_lsb(b) == low);
        SAY(4, !votes || sub_group_ballot_find_msb(b) == high);
        SAY(5, sub_group_inverse_ballot(b) == (x & 1));
        SAY(6, sub_group_ballot_bit_extract(b, 2 % get_sub_group_size()) == two);
        uint4 full = (uint4)(~0u);
        SAY(7, sub_group_ballot_bit_count(full) == size);
        SAY(8, sub_group_ballot_find_msb(full) == size - 1);
        uint4 eq = get_sub_group_eq_mask(), ge = get_sub_group_ge_mask(), gt = get_sub_group_gt_mask();
        uint4 le = get_sub_group_le_mask(), lt = get_sub_group_lt_mask();
        SAY(9, popcount(eq.x) + popcount(eq.y) + popcount(eq.z) + popcount(eq.w) == 1);
        SAY(10, sub_group_ballot_find_lsb(eq) == id);
        SAY(11, sub_group_ballot_bit_count(lt) == id && sub_group_ballot_bit_count(le) == id + 1);
        SAY(12, sub_group_ballot_bit_count(ge) == size - id && sub_group_ballot_bit_count(gt) == size - id - 1);
        SAY(13, !any(le != (lt | eq)) && !any(ge != (gt | eq)));
        SAY(14, sub_group_elect() == (id == 0));",
    )
}

fn shuffles(ty: &str) -> Case {
    sub_groups(
        &format!("shuffles_{ty}"),
        ty,
        9,
        &format!(
            "PUBLISH(1, x);
            uint id = get_sub_group_local_id(), size = get_sub_group_size(), most = get_max_sub_group_size();
            uint wild = (uint)a[get_global_linear_id()] % size;
            {ty} s = sub_group_shuffle(x, wild), r = sub_group_shuffle(x, size - 1 - id), c = sub_group_shuffle(x, 0);
            {ty} t = sub_group_shuffle_xor(x, 1), u = sub_group_shuffle_up(x, 1), d = sub_group_shuffle_down(x, 2);
            {ty} o = sub_group_rotate(x, 3), k = sub_group_clustered_rotate(x, 1, 4);
            {ty} w = sub_group_shuffle_xor(x, wild);
            SAY(0, 1); SAY(1, 1); SAY(2, 1); SAY(3, 1); SAY(4, 1); SAY(5, 1); SAY(6, 1); SAY(7, 1); SAY(8, 1);
            #define TELL(k, place, value) if (li[m] == (place) && v[m] != (value)) ok &= ~(1u << (k))
            FOR_MEMBERS(m) {{
                TELL(0, wild, s);
                TELL(1, size - 1 - id, r);
                TELL(2, 0, c);
                TELL(3, id ^ 1, t);
                TELL(4, id - 1, u);
                TELL(5, id + 2, d);
                TELL(6, (id + 3) % most, o);
                TELL(7, (id & ~3u) + ((id + 1) & 3), k);
                TELL(8, id ^ wild, w);
            }}"
        ),
    )
}

/// Functions under conditions that part a sub-group, and in loops that its items leave at different times.
fn parted() -> Case {
    sub_groups(
        "parted",
        "int",
        13,
        "bool odd = x & 1;
        int all = 0, before = 0, product = 1, bits = 0, first = 0, cluster = 0, elected = 0, least = 0;
        bool every = 0, some = 0, equal = 0, logic = 0;
        uint4 votes = 0;
        if (odd) {
            all = sub_group_non_uniform_reduce_add(x);
            before = sub_group_non_uniform_scan_exclusive_add(x);
            product = sub_group_non_uniform_reduce_mul(x % 3 + 1);
            bits = sub_group_non_uniform_scan_inclusive_xor(x);
            first = sub_group_broadcast_first(x);
            cluster = sub_group_clustered_reduce_max(x, 2);
            elected = sub_group_elect();
            every = sub_group_non_uniform_all(x > 50);
            some = sub_group_non_uniform_any(x > 50);
            equal = sub_group_non_uniform_all_equal(x);
            logic = sub_group_non_uniform_scan_inclusive_logical_or(x > 50);
            votes = sub_group_ballot(x > 50);
        } else {
            least = sub_group_non_uniform_reduce_min(x);
        }
        int together = sub_group_non_uniform_reduce_add(1);
        int rounds = 0;
        for (int k = 0; k < x % 7; k++) {
            if (k == 2 && x > 50) continue;
            rounds += sub_group_non_uniform_reduce_add(1 << k);
            if (x == 77) break;
        }
        PUBLISH(odd, x);
        int w_all = 0, w_before = 0, w_product = 1, w_bits = 0, w_first = 0, w_cluster = 0, w_votes = 0, low = 999, w_least = 1000;
        bool w_every = 1, w_some = 0, w_equal = 1, w_logic = 0;
        FOR_MEMBERS(m) {
            w_all += v[m];
            w_product *= v[m] % 3 + 1;
            if (li[m] < get_sub_group_local_id()) w_before += v[m];
            if (li[m] <= get_sub_group_local_id()) { w_bits ^= v[m]; w_logic |= v[m] > 50; }
            if ((int)li[m] < low) { low = li[m]; w_first = v[m]; }
            if (li[m] / 2 == get_sub_group_local_id() / 2) w_cluster = max(w_cluster, v[m]);
            w_every &= v[m] > 50;
            w_some |= v[m] > 50;
            w_equal &= v[m] == x;
            w_votes += v[m] > 50;
        }
        for (uint m = 0; m < n; m++) if (sg[m] == get_sub_group_id() && !here[m]) w_least = min(w_least, v[m]);
        int w_rounds = 0;
        for (int k = 0; k < x % 7; k++) {
            if (k == 2 && x > 50) continue;
            for (uint m = 0; m < n; m++)
                if (sg[m] == get_sub_group_id() && k < v[m] % 7 && !(k == 2 && v[m] > 50) && !(v[m] == 77 && k > 0))
                    w_rounds += 1 << k;
            if (x == 77) break;
        }
        SAY(0, !odd || all == w_all);
        SAY(1, !odd || before == w_before);
        SAY(2, !odd || product == w_product);
        SAY(3, !odd || bits == w_bits);
        SAY(4, !odd || first == w_first);
        SAY(5, !odd || cluster == w_cluster);
        SAY(6, !odd || elected == (low == (int)get_sub_group_local_id()));
        SAY(7, !odd || (every == w_every && some == w_some && logic == w_logic));
        SAY(8, !odd || equal == w_equal);
        SAY(9, !odd || sub_group_ballot_bit_count(votes) == w_votes);
        SAY(10, odd || least == w_least);
        SAY(11, together == (int)get_sub_group_size());
        SAY(12, rounds == w_rounds);",
    )
}

/// Sub-group functions in rows of work-groups of two and three dimensions.
fn in_dimensions(case: Case, name: &str) -> Case {
    case.named(name).range(&[12, 6, 2], &[&[4, 3, 1], &[3, 2, 2], &[12, 2, 1], &[1, 6, 2], &[5, 1, 1]])
}

/// Local sums through sub-groups: what a careful programmer writes instead of `work_group_reduce_add`.
fn two_levels() -> Case {
    Case::new(
        "groups::two_levels",
        "kernel void t(global const int *a, global int *out) {
            local int part[256];
            size_t i = get_global_id(0);
            int sum = sub_group_reduce_add(a[i]);
            if (get_sub_group_local_id() == 0) part[get_sub_group_id()] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            int all = 0;
            for (uint s = 0; s < get_num_sub_groups(); s++) all += part[s];
            sub_group_barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = all;
        }",
    )
    .input(|i| small(i) as i32)
    .expect_in(|launch, i| group(launch, i).map(|i| small(i) as i32).sum::<i32>())
    .stated_local()
    .needs(Need::SubGroups)
}

/// A kernel whose packs need a stack frame of more than a megabyte, for which one lane would be chosen, but which must have
/// sub-groups of 16.
fn large_frame() -> Case {
    const COUNT: usize = 4300;
    let loads: String = (0..COUNT).map(|k| format!("float4 v{k} = a[{k} * 16 + i];\n")).collect();
    let stores: String = (0..COUNT).map(|k| format!("o[{k} * 16 + i] = v{};\n", COUNT - 1 - k)).collect();
    Case::new(
        "groups::large_frame",
        format!(
            "__attribute__((intel_reqd_sub_group_size(16)))
            kernel void t(global const float4 *a, global float4 *o) {{ size_t i = get_global_id(0); {loads} {stores} }}"
        ),
    )
    .range(&[16], &[&[16]])
    .input_n(COUNT * 64, |e| e as f32)
    .expect_n(COUNT * 64, |e| Some(((COUNT - 1 - e / 64) * 64 + e % 64) as f32))
    .needs(Need::SubGroups)
}

/// Ids, barriers and scans of sub-groups that go beyond the ends of rows, with a demanded size and a global offset.
fn across_rows(size: usize) -> Case {
    Case::new(
        format!("groups::sub_groups_of_{size}_across_rows"),
        format!(
            "__attribute__((intel_reqd_sub_group_size({size})))
            kernel void t(global int *o) {{
                local int row[64], left[64];
                size_t x = get_local_id(0), y = get_local_id(1), z = get_local_id(2), l = get_local_linear_id();
                size_t w = get_local_size(0), h = get_local_size(1);
                int ok = l == (z * h + y) * w + x && x < w && y < h;
                ok &= get_global_id(0) == get_group_id(0) * get_enqueued_local_size(0) + x + get_global_offset(0);
                ok &= get_global_id(1) == get_group_id(1) * get_enqueued_local_size(1) + y + get_global_offset(1);
                ok &= get_global_id(2) == get_group_id(2) * get_enqueued_local_size(2) + z + get_global_offset(2);
                row[l] = (int)y;
                barrier(CLK_LOCAL_MEM_FENCE);
                int upto = 0;
                for (size_t m = l - l % {size}; m <= l; m++) upto += row[m];
                ok &= sub_group_scan_inclusive_add((int)y) == upto;
                for (int k = 0; k < (int)x; k++) upto += sub_group_non_uniform_reduce_add(1) & 0;
                left[l] = ok;
                barrier(CLK_LOCAL_MEM_FENCE);
                ok &= left[w * h * get_local_size(2) - 1 - l];
                o[get_global_linear_id()] = ok ? (int)get_sub_group_size() : -1;
            }}"
        ),
    )
    .range(&[20, 4, 2], &[&[20, 2, 1], &[5, 4, 2], &[10, 2, 2], &[4, 1, 2], &[16, 2, 1], &[7, 3, 2], &[1, 4, 2]])
    .offset(&[3, 0, 5])
    .stated_local()
    .needs(Need::SubGroups)
    .needs(Need::Extension("cl_intel_required_subgroup_size"))
    .expect_in(move |launch, i| {
        let id = [i % 20, i / 20 % 4, i / 80];
        let size_of = |d: usize| launch.local.as_ref().map_or(1, |local| local[d]);
        let size_of = |d: usize| size_of(d).min([20, 4, 2][d] - id[d] / size_of(d) * size_of(d));
        let place = |d: usize| id[d] % launch.local.as_ref().map_or(1, |local| local[d]);
        let linear = (place(2) * size_of(1) + place(1)) * size_of(0) + place(0);
        let items = size_of(0) * size_of(1) * size_of(2);
        (items - linear / size * size).min(size) as i32
    })
}

/// Sub-groups of the size that each kernel of a program demands.
fn demanded(size: usize) -> Case {
    Case::new(
        format!("groups::sub_groups_of_{size}_demanded"),
        format!(
            "kernel void before(global uint *o) {{ o[get_global_id(0)] = 1; }}
             __attribute__((intel_reqd_sub_group_size(1))) kernel void one(global uint *o) {{
                 o[get_global_id(0)] = sub_group_reduce_add(1);
             }}
             __attribute__((intel_reqd_sub_group_size({size}))) kernel void t(global uint *o) {{
                 o[get_global_id(0)] = sub_group_reduce_add(1) + 100 * get_max_sub_group_size();
             }}"
        ),
    )
    .stated_local()
    .needs(Need::SubGroups)
    .needs(Need::Extension("cl_intel_required_subgroup_size"))
    .expect_in(move |launch, i| {
        let first = (i - launch.group_start_of(i)) / size * size;
        (size.min(launch.group_size_of(i) - first) + 100 * size) as u32
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        of_type::<i32>("int", |n| n as i32, (i32::MAX, i32::MIN), true),
        of_type::<u32>("uint", |n| n as u32, (u32::MAX, 0), false),
        of_type::<i64>("long", |n| n, (i64::MAX, i64::MIN), true),
        of_type::<u64>("ulong", |n| n as u64, (u64::MAX, 0), false),
        of_type::<f32>("float", |n| n as f32, (f32::INFINITY, f32::NEG_INFINITY), true),
        of_type::<f64>("double", |n| n as f64, (f64::INFINITY, f64::NEG_INFINITY), true),
        votes(),
        of_type::<i32>("int", |n| n as i32, (i32::MAX, i32::MIN), true)
            .named("groups::int_of_2_0")
            .options("-cl-std=CL2.0"),
        in_control_flow(),
        two_levels(),
        places(),
        ballots(),
        parted(),
        large_frame(),
        in_dimensions(places(), "groups::sub_group_places_3"),
        in_dimensions(ballots(), "groups::sub_group_ballots_3"),
        in_dimensions(parted(), "groups::sub_group_parted_3"),
        in_dimensions(shuffles("int"), "groups::sub_group_shuffles_3"),
    ];
    cases.extend((1..=3).map(broadcasts));
    cases.extend([1, 4, 16].map(demanded));
    cases.extend([1, 8, 16].map(across_rows));
    cases.extend(
        ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"]
            .into_iter()
            .flat_map(|ty| [uniform(ty), shuffles(ty)]),
    );
    cases
}
