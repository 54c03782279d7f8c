//! Conversions between integers.

use std::fmt::Write;

use super::{INTEGERS, LANES};

/// Rounding modes as they stand in names of functions.
const ROUNDINGS: [&str; 5] = ["", "_rte", "_rtz", "_rtp", "_rtn"];

/// The functions that convert to a type.
pub(super) fn functions(to: &str) -> Vec<String> {
    let suffixes = || ROUNDINGS.iter().flat_map(|rounding| ["", "_sat"].map(|sat| format!("{sat}{rounding}")));
    LANES.iter().flat_map(|lanes| suffixes().map(move |suffix| format!("convert_{to}{lanes}{suffix}"))).collect()
}

/// Their definitions. Conversions from floats are translated rightly.
pub(super) fn definitions(to: &str) -> String {
    let mut text = String::new();
    let Some((_, bits, signed)) = INTEGERS.iter().find(|(name, ..)| *name == to) else { return text };
    for lanes in LANES {
        for (from, from_bits, from_signed) in INTEGERS {
            let (result, source) = (format!("{to}{lanes}"), format!("{from}{lanes}"));
            let converted = |value: &str| match lanes {
                "" => format!("({result})({value})"),
                _ => format!("__builtin_convertvector({value},{result})"),
            };
            let (least, most) = match *signed {
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
                // The least number has no literal.
                saturated = format!("__builtin_elementwise_max({saturated},({source})({}L-1))", least + 1);
            }
            for rounding in ROUNDINGS {
                let head =
                    |saturating: &str| format!("{result} INLINE convert_{result}{saturating}{rounding}({source} x)");
                let _ = writeln!(text, "{}{{return {};}}", head(""), converted("x"));
                let _ = writeln!(text, "{}{{return {};}}", head("_sat"), converted(&saturated));
            }
        }
    }
    text
}
