//! Repairs, in the source, of what clang's SPIR-V back end translates wrongly.
//!
//! Each repair is a handful of macros that put something of the same meaning in place of a built-in function, and the words
//! whose absence from a source shows that it is not needed: most programs are compiled as they are. Facts are of
//! clang 22; a repair does no harm where a later version needs it no more.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

use super::Job;
use super::cache::may_read_files;

/// One repair.
struct Repair {
    /// A program without this word does not need it.
    word: &'static str,
    /// Lines to put before the program.
    lines: &'static LazyLock<String>,
}

/// Every repair.
const REPAIRS: &[Repair] = &[
    // convert_T_sat between integers: the back end looks at the destination alone and takes the source to be of the other
    // signedness, so -1000 becomes 127 as a char.
    Repair { word: "_sat", lines: &SATURATING_CONVERSIONS },
    // vloada_halfN is translated as vload_halfN, whose elements of 3 lie 3 apart, not 4.
    Repair { word: "vloada_half3", lines: &ALIGNED_HALF_LOADS },
];

static ALIGNED_HALF_LOADS: LazyLock<String> =
    LazyLock::new(|| "#define vloada_half3(o, p) vload_half3(0, (p) + (size_t)(o) * 4)\n".to_owned());

static SATURATING_CONVERSIONS: LazyLock<String> = LazyLock::new(saturating_conversions);

/// An integer type of OpenCL C.
struct Int {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const INTS: [Int; 8] = [
    Int { name: "char", bits: 8, signed: true },
    Int { name: "uchar", bits: 8, signed: false },
    Int { name: "short", bits: 16, signed: true },
    Int { name: "ushort", bits: 16, signed: false },
    Int { name: "int", bits: 32, signed: true },
    Int { name: "uint", bits: 32, signed: false },
    Int { name: "long", bits: 64, signed: true },
    Int { name: "ulong", bits: 64, signed: false },
];

/// A macro for every saturating conversion to an integer. From integers of the same signedness it clamps and converts;
/// everything else is left to the built-in function, which a macro of its own name may mention.
fn saturating_conversions() -> String {
    let mut text = String::new();
    for to in &INTS {
        for lanes in ["", "2", "3", "4", "8", "16"] {
            for rounding in ["", "_rte", "_rtz", "_rtp", "_rtn"] {
                let target = format!("{}{lanes}", to.name);
                let mut cases = String::new();
                for from in INTS.iter().filter(|from| from.signed == to.signed) {
                    let source = format!("{}{lanes}", from.name);
                    // Converting to its own type changes nothing, and makes the case acceptable whatever x is.
                    let value = format!("convert_{source}(x)");
                    let clamped = match (from.bits > to.bits, to.signed) {
                        (false, _) => value,
                        (true, true) => {
                            let high = (1_u64 << (to.bits - 1)) - 1;
                            format!("clamp({value},({source})(-{high}-1),({source}){high})")
                        }
                        (true, false) => format!("min({value},({source}){}U)", (1_u64 << to.bits) - 1),
                    };
                    let _ = write!(cases, "{source}:convert_{target}({clamped}),");
                }
                let name = format!("convert_{target}_sat{rounding}");
                let _ = writeln!(text, "#define {name}(x) _Generic((x),{cases}default:{name}(x))");
            }
        }
    }
    text
}

/// The lines that a program needs before it.
pub fn prelude(job: &Job<'_>) -> Cow<'static, str> {
    let texts = || std::iter::once(job.source).chain(job.headers.iter().map(|header| header.text.as_slice()));
    let unknown = texts().any(may_read_files);
    let has = |word: &str| {
        unknown
            || texts().any(|text| text.windows(word.len()).any(|window| window == word.as_bytes()))
            || job.options.front_end.iter().any(|option| option.contains(word))
    };
    REPAIRS.iter().filter(|repair| has(repair.word)).fold(Cow::Borrowed(""), |mut all, repair| {
        all.to_mut().push_str(repair.lines);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::prelude;
    use crate::frontend::{BuildOptions, Job, Profile};

    fn lines_for(source: &str) -> usize {
        let (options, profile) = (BuildOptions::default(), Profile::default());
        let job = Job { source: source.as_bytes(), headers: &[], options: &options, profile: &profile };
        prelude(&job).lines().count()
    }

    #[test]
    fn only_what_is_needed_is_added() {
        assert_eq!(lines_for("kernel void k() {}"), 0);
        assert_eq!(lines_for("x = vloada_half3(1, p);"), 1);
        assert_eq!(lines_for("x = convert_char_sat(y);"), 8 * 6 * 5);
        assert_eq!(lines_for("#include \"x.h\""), 8 * 6 * 5 + 1);
    }
}
