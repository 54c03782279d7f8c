//! Records of which some elements are written: the others are not stored to and must stay as they are, also where the
//! records of many work-items are written at once.

use clift_tests::kernel::{Case, Element, GLOBAL};
use clift_tests::values::spread;

/// What the work-items know: small enough for a byte with all that is added to it.
fn small(seed: u64, at: usize) -> u8 {
    (spread(seed, at) % 50) as u8
}

/// Writes the elements `written` of records of so many elements, in all work-items or some; then reads records that were partly
/// written.
fn written<T: Element + From<u8>>(ty: &str, elements: usize, written: &'static [usize], some: bool) -> Case {
    let name = written.iter().map(usize::to_string).collect::<Vec<_>>().join("");
    let condition = if some { "if (x & 1)" } else { "" };
    let stores: String =
        written.iter().map(|k| format!("p[{elements} * i + {k}] = ({ty})(x + {});\n", 10 * k)).collect();
    let sum: String = (0..elements).map(|k| format!(" + (int)p[{elements} * i + {k}]")).collect();
    let source = format!(
        "kernel void t(global const uchar *in, global {ty} *p, global int *sums) {{
            size_t i = get_global_id(0);
            int x = in[i];
            {condition} {{
                {stores}
            }}
            sums[i] = 0{sum};
        }}"
    );
    let when = if some { "some" } else { "all" };
    let element = move |at: usize| {
        let (i, k) = (at / elements, at % elements);
        let x = small(1, i);
        if written.contains(&k) && (!some || x & 1 == 1) { x + 10 * k as u8 } else { small(2, at) }
    };
    Case::new(format!("partial_records::{ty}{elements}_{name}_{when}"), source)
        .input(|i| small(1, i))
        .update(GLOBAL * elements, |at| T::from(small(2, at)), move |_, at| Some(T::from(element(at))))
        .expect(move |i| (0..elements).map(|k| i32::from(element(elements * i + k))).sum::<i32>())
}

/// Components of OpenCL vectors, written by their names and then read as a whole.
fn components(names: &str, written: &'static [usize]) -> Case {
    let source = format!(
        "kernel void t(global const int4 *in, global int4 *p, global int4 *out) {{
            size_t i = get_global_id(0);
            p[i].{names} += in[i].{names};
            out[i] = p[i] * 2;
            p[i].{names} -= out[i].{names};
        }}"
    );
    let (own, other) = (|at: usize| spread(3, at) as i32, |at: usize| spread(4, at) as i32);
    let sum = move |at: usize| {
        if written.contains(&(at % 4)) { own(at).wrapping_add(other(at)) } else { own(at) }
    };
    Case::new(format!("partial_records::components_{names}"), source)
        .input_n(4 * GLOBAL, other)
        .update(4 * GLOBAL, own, move |_, at| {
            let twice = sum(at).wrapping_mul(2);
            Some(if written.contains(&(at % 4)) { sum(at).wrapping_sub(twice) } else { sum(at) })
        })
        .expect_n(4 * GLOBAL, move |at| Some(sum(at).wrapping_mul(2)))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![components("xyz", &[0, 1, 2]), components("xz", &[0, 2]), components("w", &[3])];
    for some in [false, true] {
        cases.extend([
            written::<i32>("int", 4, &[0, 1, 2], some),
            written::<i32>("int", 4, &[1, 2], some),
            written::<i32>("int", 4, &[0, 3], some),
            written::<i32>("int", 4, &[3], some),
            written::<i32>("int", 3, &[0, 1], some),
            written::<i32>("int", 2, &[1], some),
            written::<u8>("uchar", 4, &[0, 1, 2], some),
            written::<u8>("uchar", 2, &[0], some),
            written::<u16>("ushort", 4, &[0, 1, 2], some),
            written::<u16>("ushort", 3, &[2], some),
            written::<i64>("long", 4, &[0, 1, 2], some),
            written::<i64>("long", 2, &[0], some),
        ]);
    }
    cases
}
