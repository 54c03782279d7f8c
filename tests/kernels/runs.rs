//! Contiguous runs of elements per work-item, which packs load and store as vectors with shuffles, also in work-groups with few
//! work-items.

use clift_tests::kernel::{Case, Element};
use clift_tests::values::spread;

const ITEMS: usize = 80;

/// Each work-item copies a run of `length` elements in another order, and fills another run with one value.
fn runs<T: Element + Copy>(ty: &str, length: usize, attribute: &str, locals: &[&[usize]], of: fn(u64) -> T) -> Case {
    let copies: String = (0..length).map(|k| format!("o[j + {k}] = x[j + {}];\n", (k * 3 + 1) % length)).collect();
    let fills: String = (0..length).map(|k| format!("p[j + {k}] = a;\n")).collect();
    let value = move |i: usize| of(spread(61, i));
    let required = if attribute.is_empty() { "" } else { "_required" };
    Case::new(
        format!("runs::of_{length}_{ty}{required}"),
        format!(
            "{attribute} kernel void t(global const {ty} *x, global {ty} *o, global {ty} *p) {{
                int i = get_global_id(0), j = i * {length};
                {ty} a = x[i];
                {copies} {fills}
            }}"
        ),
    )
    .range(&[ITEMS], locals)
    .stated_local()
    .input_n(ITEMS * length, value)
    .expect_n(ITEMS * length, move |e| {
        let (item, k) = (e / length, e % length);
        Some(value(item * length + (k * 3 + 1) % length))
    })
    .expect_n(ITEMS * length, move |e| Some(value(e / length)))
}

pub(crate) fn cases() -> Vec<Case> {
    const LOCALS: [&[usize]; 5] = [&[2], &[4], &[5], &[8], &[16]];
    let mut cases = Vec::new();
    for length in (2..=15).chain([16, 23]) {
        cases.push(runs("uchar", length, "", &LOCALS, |bits| bits as u8));
        cases.push(runs("ushort", length, "", &LOCALS, |bits| bits as u16));
        cases.push(runs("float", length, "", &LOCALS, |bits| (bits % 1000) as f32));
        cases.push(runs("ulong", length, "", &LOCALS, |bits| bits));
    }
    for (length, size) in [(7, 2), (3, 4), (5, 8)] {
        let attribute = format!("__attribute__((reqd_work_group_size({size}, 1, 1)))");
        cases.push(runs("float", length, &attribute, &[&[size]], |bits| (bits % 1000) as f32));
        cases.push(runs("ushort", length, &attribute, &[&[size]], |bits| bits as u16));
    }
    cases
}
