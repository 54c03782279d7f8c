//! Comparison of outputs.

use crate::memory::Output;
use crate::plan::Element;

/// Relative error of floats on different drivers.
const RELATIVE: f64 = 2e-3;
/// Absolute error, near zero.
const ABSOLUTE: f64 = 1e-4;

/// Whether two drivers' floats agree.
fn close(left: f64, right: f64) -> bool {
    left == right
        || left.is_nan() && right.is_nan()
        || (left - right).abs() <= ABSOLUTE + RELATIVE * left.abs().max(right.abs())
}

/// Whether the elements agree, exactly except for NaNs, or within a tolerance.
fn agree(element: Element, left: &[u8], right: &[u8], exact: bool) -> bool {
    if left == right {
        return true;
    }
    let word = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().expect("four bytes")));
    let half = |bytes: &[u8]| f64::from(half::f16::from_le_bytes(bytes.try_into().expect("two bytes")));
    let double = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let (left, right) = match element {
        Element::I8 => return !exact && left[0].abs_diff(right[0]) <= 1,
        Element::I16 | Element::I32 | Element::I64 => return false,
        Element::F16 => (half(left), half(right)),
        Element::F32 | Element::Mixed => (word(left), word(right)),
        Element::F64 => (double(left), double(right)),
    };
    if exact { left.is_nan() && right.is_nan() } else { close(left, right) }
}

/// The first difference of the outputs of two runs: the argument, the element, and both values. Outputs contain what a kernel
/// changed; `initial` returns an argument's data before the launch.
pub(crate) fn difference(
    left: &[Output],
    right: &[Output],
    exact: bool,
    initial: &dyn Fn(usize) -> Vec<u8>,
) -> Option<String> {
    let find = |all: &[Output], arg| all.iter().find(|output| output.arg == arg).cloned();
    for output in left.iter().chain(right) {
        let (left, right) = (find(left, output.arg), find(right, output.arg));
        if left == right {
            continue;
        }
        let whole = |output: Option<Output>, mut data: Vec<u8>| {
            if let Some(output) = output {
                data[output.offset..output.offset + output.data.len()].copy_from_slice(&output.data);
            }
            data
        };
        let before = initial(output.arg);
        let (left, right) = (whole(left, before.clone()), whole(right, before));
        let size = output.element.size();
        let pairs = left.chunks_exact(size).zip(right.chunks_exact(size)).enumerate();
        for (index, (a, b)) in pairs {
            if !agree(output.element, a, b, exact) {
                let (a, b) = (show(output.element, a), show(output.element, b));
                return Some(format!("argument {}, element {index}: {a} and {b}", output.arg));
            }
        }
    }
    None
}

fn show(element: Element, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    match element {
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => format!("0x{hex}"),
        Element::F16 => format!("{} (0x{hex})", half::f16::from_le_bytes([bytes[0], bytes[1]])),
        Element::F32 | Element::Mixed => {
            format!("{:e} (0x{hex})", f32::from_le_bytes(bytes.try_into().expect("four bytes")))
        }
        Element::F64 => format!("{:e} (0x{hex})", f64::from_le_bytes(bytes.try_into().expect("eight bytes"))),
    }
}
