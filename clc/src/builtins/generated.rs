//! Functions whose names say everything: `convert_uchar4_sat_rte`, `as_float4`.

use spirv::FPRoundingMode;

use super::signature::scalar;
use super::{Environment, Lowering, Overload};
use crate::types::{QualTy, Scalar, Ty, TypeTable};

/// The numbers of lanes of vectors, and of scalars.
const LANES: [u8; 6] = [1, 2, 3, 4, 8, 16];

/// The overloads of a name; `None` if it is not such a name.
pub(super) fn find(name: &str, environment: Environment<'_>, types: &mut TypeTable) -> Option<Vec<Overload>> {
    if let Some(rest) = name.strip_prefix("convert_") {
        return conversions(rest, environment, types);
    }
    let rest = name.strip_prefix("as_")?;
    let word = |signed| Scalar::integer(types.pointer_bytes, signed).map(|scalar| (scalar, 1));
    let (to, lanes) = match rest {
        "size_t" | "uintptr_t" => word(false)?,
        "ptrdiff_t" | "intptr_t" => word(true)?,
        _ => value_type(rest)?,
    };
    if !has(environment, to) {
        return Some(Vec::new());
    }
    let bytes = size(to, lanes);
    let result = types.vector(to, lanes);
    let mut overloads = Vec::new();
    for from in sources(environment) {
        for count in LANES {
            // A vector of three is as large as one of four.
            if size(from, count) == bytes {
                let parameter = types.vector(from, count);
                overloads.push(overload(result, parameter, Lowering::Bits));
            }
        }
    }
    Some(overloads)
}

/// `convert_` without its beginning.
fn conversions(rest: &str, environment: Environment<'_>, types: &mut TypeTable) -> Option<Vec<Overload>> {
    let (rest, rounding) = match rest.rsplit_once('_') {
        Some((rest, "rte")) => (rest, Some(FPRoundingMode::RTE)),
        Some((rest, "rtz")) => (rest, Some(FPRoundingMode::RTZ)),
        Some((rest, "rtp")) => (rest, Some(FPRoundingMode::RTP)),
        Some((rest, "rtn")) => (rest, Some(FPRoundingMode::RTN)),
        _ => (rest, None),
    };
    let (rest, saturate) = match rest.strip_suffix("_sat") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (to, lanes) = value_type(rest)?;
    if saturate && to.is_float() {
        return None;
    }
    if !has(environment, to) {
        return Some(Vec::new());
    }
    let result = types.vector(to, lanes);
    let mut overloads = Vec::new();
    for from in sources(environment) {
        let parameter = types.vector(from, lanes);
        overloads.push(overload(result, parameter, Lowering::Convert { saturate, rounding }));
    }
    Some(overloads)
}

fn overload(result: Ty, parameter: Ty, lowering: Lowering) -> Overload {
    Overload { result, parameters: vec![QualTy::plain(parameter)], is_variadic: false, lowering }
}

/// The type with a name such as `uchar4`.
fn value_type(name: &str) -> Option<(Scalar, u8)> {
    let element = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let lanes = match name.strip_prefix(element)? {
        "" => 1,
        "2" => 2,
        "3" => 3,
        "4" => 4,
        "8" => 8,
        "16" => 16,
        _ => return None,
    };
    Some((scalar(element).filter(|scalar| *scalar != Scalar::Bool)?, lanes))
}

/// Size of a value in memory.
fn size(scalar: Scalar, lanes: u8) -> u32 {
    scalar.bytes() * u32::from(lanes).next_power_of_two()
}

/// Whether a type exists.
fn has(environment: Environment<'_>, scalar: Scalar) -> bool {
    match scalar {
        Scalar::Bool => false,
        Scalar::Half => environment.has_half(),
        Scalar::Double => environment.has_double(),
        Scalar::Char
        | Scalar::UChar
        | Scalar::Short
        | Scalar::UShort
        | Scalar::Int
        | Scalar::UInt
        | Scalar::Long
        | Scalar::ULong
        | Scalar::Float => true,
    }
}

/// What can be converted.
fn sources(environment: Environment<'_>) -> impl Iterator<Item = Scalar> {
    Scalar::ALL.into_iter().filter(move |scalar| has(environment, *scalar))
}

/// Whether a name is one of these.
#[cfg(test)]
pub(super) fn is_generated(name: &str) -> bool {
    name.starts_with("convert_") || name.starts_with("as_")
}
