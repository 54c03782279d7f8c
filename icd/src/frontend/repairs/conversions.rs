//! Conversions between integers, conversions to floating-point types, and comparison functions.

use std::fmt::Write;

use super::{INTEGERS, LANES};

/// Suffixes of names with a rounding mode.
pub(super) const ROUNDING: [&str; 8] = ["_rte", "_rtz", "_rtp", "_rtn", "_sat_rte", "_sat_rtz", "_sat_rtp", "_sat_rtn"];

/// The functions whose names have these suffixes.
pub(super) fn functions(ends: &[&str]) -> Vec<String> {
    let types = INTEGERS.iter().flat_map(|(to, ..)| LANES.iter().map(move |lanes| format!("{to}{lanes}")));
    types.flat_map(|to| ends.iter().map(move |end| format!("convert_{to}{end}"))).collect()
}

/// Their definitions. Conversions from floats are translated correctly.
pub(super) fn definitions(ends: &[&str]) -> String {
    let mut text = String::new();
    for (to, bits, signed) in INTEGERS {
        define(&mut text, (to, bits, signed), ends);
    }
    text
}

/// The definitions of conversions to one type.
fn define(text: &mut String, (to, bits, signed): (&str, u32, bool), ends: &[&str]) {
    for lanes in LANES {
        for (from, from_bits, from_signed) in INTEGERS {
            let (result, source) = (format!("{to}{lanes}"), format!("{from}{lanes}"));
            let converted = |value: &str| match lanes {
                "" => format!("({result})({value})"),
                _ => format!("__builtin_convertvector({value},{result})"),
            };
            let (least, most) = match signed {
                true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                false => (0, (1_i128 << bits) - 1),
            };
            let (of_least, of_most) = match from_signed {
                true => (-(1_i128 << (from_bits - 1)), (1_i128 << (from_bits - 1)) - 1),
                false => (0, (1_i128 << from_bits) - 1),
            };
            let mut saturated = "x".to_owned();
            if of_most > most {
                saturated = format!("__builtin_elementwise_min({saturated},({source}){most}UL)");
            }
            if of_least < least {
                // The minimum has no literal.
                saturated = format!("__builtin_elementwise_max({saturated},({source})({}L-1))", least + 1);
            }
            for end in ends {
                let value = converted(if end.starts_with("_sat") { &saturated } else { "x" });
                let _ = writeln!(text, "{result} INLINE convert_{result}{end}({source} x){{return {value};}}");
            }
        }
    }
}

/// The floating-point types.
const FLOATS: [&str; 3] = ["half", "float", "double"];

/// The functions that convert to floating-point types.
pub(super) fn functions_to_floats() -> Vec<String> {
    FLOATS.iter().flat_map(|to| LANES.iter().map(move |lanes| format!("convert_{to}{lanes}"))).collect()
}

/// Their definitions.
pub(super) fn to_floats() -> String {
    let mut text = String::new();
    for to in FLOATS {
        for lanes in LANES {
            for from in INTEGERS.iter().map(|(from, ..)| *from).chain(FLOATS) {
                let value = match lanes {
                    "" => format!("({to})x"),
                    _ => format!("__builtin_convertvector(x,{to}{lanes})"),
                };
                let _ = writeln!(text, "{to}{lanes} INLINE convert_{to}{lanes}({from}{lanes} x){{return {value};}}");
            }
        }
    }
    text
}

/// Comparisons of scalars, whose result is 1 if true, and the equivalent expressions.
const COMPARISONS: [(&str, &str); 7] = [
    ("isequal", "x==y"),
    ("isnotequal", "x!=y"),
    ("isgreater", "x>y"),
    ("isgreaterequal", "x>=y"),
    ("isless", "x<y"),
    ("islessequal", "x<=y"),
    ("islessgreater", "x<y||x>y"),
];

pub(super) fn comparison_functions() -> Vec<String> {
    COMPARISONS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Their definitions for scalars. Those for vectors, whose result is -1 if true, are translated correctly.
pub(super) fn comparisons() -> String {
    let mut text = String::new();
    for of in FLOATS {
        for (name, value) in COMPARISONS {
            let _ = writeln!(text, "int INLINE {name}({of} x,{of} y){{return {value};}}");
        }
    }
    text
}
