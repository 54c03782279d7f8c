//! Repairs of functions that clang's SPIR-V back end mistranslates and of functions that clang does not declare, in one table:
//! [`TABLE`].
//!
//! The back end recognizes OpenCL C's built-in functions by their mangled names. A row contains definitions, in OpenCL C, of
//! functions that the back end mistranslates: a *library*. The same clang compiles the library to LLVM bitcode, once, and links
//! it into programs that may call one of the functions (`-mlink-builtin-bitcode`). The definition then replaces the import before
//! the back end runs. Nothing is prepended to a program's source, so diagnostics are clang's own, and a program can define a
//! function of the same name.
//!
//! The libraries that a program may need are selected by the names in its text ([`named`]), or by the imports of its LLVM IR
//! where that is available ([`called`]). A library that is linked without need has no effect.
//!
//! Functions that clang does not declare are declared after clang has rejected a program because they are missing
//! ([`undeclared`]).

mod bits;
mod conversions;
mod copies;
mod levels;
mod loads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use super::Job;

/// A repair of one component's faults.
pub struct Repair {
    /// The library's name.
    pub name: &'static str,
    /// The component that has the fault.
    pub producer: &'static str,
    /// The fault.
    pub fault: &'static str,
    /// The functions it defines.
    functions: fn() -> Vec<String>,
    /// Their definitions.
    definitions: fn() -> String,
    /// Declarations of those that clang does not declare.
    declarations: Option<fn() -> String>,
}

const BACK_END: &str = "clang's SPIR-V back end, 20 to 22";
const CLANG: &str = "clang, to 22";

const EXTENSION: &str = "a conversion between integers uses only the signedness of the result, and inverts it: a `char` of -1 \
                         becomes the `int` 255";
const SATURATION: &str = "a conversion between integers saturates as if the source were of the other signedness: the `int` -1000 \
                          becomes the `char` 127";

/// All repairs.
pub const TABLE: &[Repair] = &[
    Repair {
        name: "conversions",
        producer: BACK_END,
        fault: EXTENSION,
        functions: || conversions::functions(&[""]),
        definitions: || conversions::definitions(&[""]),
        declarations: None,
    },
    Repair {
        name: "saturating_conversions",
        producer: BACK_END,
        fault: SATURATION,
        functions: || conversions::functions(&["_sat"]),
        definitions: || conversions::definitions(&["_sat"]),
        declarations: None,
    },
    // Rarely used, and large.
    Repair {
        name: "rounding_conversions",
        producer: BACK_END,
        fault: "as those without a rounding mode, which has no meaning between integers",
        functions: || conversions::functions(&conversions::ROUNDING),
        definitions: || conversions::definitions(&conversions::ROUNDING),
        declarations: None,
    },
    Repair {
        name: "conversions_to_floats",
        producer: BACK_END,
        fault: "translates the signed one-bit integer to which the optimizer may reduce `-(a < b)` as 1; without calls the importer \
                can distinguish it from `a < b`, which is then unsigned",
        functions: conversions::functions_to_floats,
        definitions: conversions::to_floats,
        declarations: None,
    },
    Repair {
        name: "comparisons",
        producer: BACK_END,
        fault: "as conversions_to_floats: `(float)isless(a, b)` is translated as `(float)-(a < b)`",
        functions: conversions::comparison_functions,
        definitions: conversions::comparisons,
        declarations: None,
    },
    Repair {
        name: "vloada_half3",
        producer: BACK_END,
        fault: "is translated as vload_half3, whose vectors are 3 elements apart, not 4",
        functions: || vec!["vloada_half3".to_owned()],
        definitions: loads::aligned_halves,
        declarations: None,
    },
    Repair {
        name: "async_work_group_copy",
        producer: BACK_END,
        fault: "a `__local` array that is only copied to or from gets the size of one element",
        functions: || vec!["async_work_group_copy".to_owned()],
        definitions: || copies::lines(false),
        declarations: None,
    },
    Repair {
        name: "async_work_group_strided_copy",
        producer: BACK_END,
        fault: "as async_work_group_copy",
        functions: || vec!["async_work_group_strided_copy".to_owned()],
        definitions: || copies::lines(true),
        declarations: None,
    },
    Repair {
        name: "async_work_group_blocks",
        producer: CLANG,
        fault: "does not support cl_khr_extended_async_copies",
        functions: copies::block_functions,
        definitions: copies::blocks,
        declarations: Some(copies::block_declarations),
    },
    Repair {
        name: "atomics",
        producer: BACK_END,
        fault: "atomic_load_explicit swaps the memory order and the scope; compare-exchanges without a scope crash it",
        functions: loads::atomic_functions,
        definitions: loads::atomics,
        declarations: None,
    },
    Repair {
        name: "bits",
        producer: BACK_END,
        fault: "requires a SPIR-V extension for cl_khr_extended_bit_ops with which a loop that the optimizer recognizes as a \
                reversal of 9 bits reverses 16",
        functions: bits::functions,
        definitions: bits::definitions,
        declarations: None,
    },
    Repair {
        name: "levels",
        producer: BACK_END,
        fault: "drops the level of a read of a mipmapped image, and writes the level as the colour; clang declares neither below \
                OpenCL C 2.0, nor those of halves",
        functions: levels::functions,
        definitions: levels::definitions,
        declarations: Some(levels::declarations),
    },
];

impl std::fmt::Debug for Repair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repair").field("name", &self.name).field("producer", &self.producer).finish_non_exhaustive()
    }
}

impl PartialEq for Repair {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Repair {}

impl Repair {
    /// The library's source in OpenCL C.
    pub fn source(&self) -> &'static str {
        static SOURCES: [OnceLock<String>; TABLE.len()] = [const { OnceLock::new() }; TABLE.len()];
        let at = TABLE.iter().position(|row| row == self).unwrap_or_default();
        SOURCES[at].get_or_init(|| format!("{HEAD}{}", (self.definitions)()))
    }
}

/// A text that changes when one of these libraries changes.
pub fn fingerprint(rows: &[&Repair]) -> String {
    rows.iter().map(|row| blake3::hash(row.source().as_bytes()).to_hex().to_string()).collect()
}

/// The common beginning of the libraries' sources.
const HEAD: &str = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n\
                    #define INLINE __attribute__((overloadable, always_inline))\n\
                    #define IMPORTED __attribute__((overloadable))\n";

/// The rows by the names of the functions that they define.
static FUNCTIONS: LazyLock<BTreeMap<String, &'static Repair>> =
    LazyLock::new(|| TABLE.iter().flat_map(|row| (row.functions)().into_iter().map(move |name| (name, row))).collect());

/// Number of leading characters of a name that the preprocessor may paste together that select a library.
const PASTED_PREFIX: usize = 3;

/// The rows, in the order of the table, that define one of the wanted functions.
fn rows(wanted: impl Fn(&Repair) -> bool) -> Vec<&'static Repair> {
    TABLE.iter().filter(|row| wanted(row)).collect()
}

/// The libraries that a program may need, by the names in its texts.
pub fn named(job: &Job<'_>) -> Vec<&'static Repair> {
    let texts = || std::iter::once(job.source).chain(job.headers.iter().map(|header| header.text.as_slice()));
    let options = job.options.front_end.iter().map(|option| option.as_bytes());
    let pastes = texts().chain(options.clone()).any(|text| text.windows(2).any(|pair| pair == b"##" || pair == b"%:"));
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for text in texts().chain(options) {
        // In options, a macro's name follows -D directly.
        let text = text.strip_prefix(b"-D").unwrap_or(text);
        for word in text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')) {
            let Ok(word) = std::str::from_utf8(word) else { continue };
            if word.len() < PASTED_PREFIX {
                continue;
            }
            let from = FUNCTIONS.range::<str, _>((std::ops::Bound::Included(word), std::ops::Bound::Unbounded));
            let begun = from.take_while(|(name, _)| name.starts_with(word));
            found.extend(begun.filter(|(name, _)| pastes || *name == word).map(|(_, row)| row.name));
        }
    }
    rows(|row| found.contains(row.name))
}

/// The libraries that a module needs which imports functions with these mangled names.
pub fn called<'a>(imports: impl IntoIterator<Item = &'a str>) -> Vec<&'static Repair> {
    let found: BTreeSet<&str> =
        imports.into_iter().filter_map(|mangled| Some(FUNCTIONS.get(source_name(mangled)?)?.name)).collect();
    rows(|row| found.contains(row.name))
}

/// A function's name in the source.
fn source_name(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[digits..].get(..rest[..digits].parse().ok()?)
}

/// The rows to declare for a program that was rejected with these diagnostics.
pub fn undeclared(diagnostics: &str) -> Vec<&'static Repair> {
    let errors = diagnostics.lines().filter_map(|line| line.split_once(" error: "));
    let quoted: BTreeSet<&str> = errors.filter_map(|(_, text)| text.split('\'').nth(1)).collect();
    rows(|row| row.declarations.is_some() && (row.functions)().iter().any(|name| quoted.contains(name.as_str())))
}

/// Their declarations.
pub fn declarations(rows: &[&Repair]) -> String {
    let parts = rows.iter().filter_map(|row| row.declarations);
    format!(
        "#define IMPORTED __attribute__((overloadable))\n{}#undef IMPORTED\n",
        parts.map(|part| part()).collect::<String>()
    )
}

/// Integer types: name, bits, whether signed. Each unsigned type follows the signed one.
const INTEGERS: [(&str, u32, bool); 8] = [
    ("char", 8, true),
    ("uchar", 8, false),
    ("short", 16, true),
    ("ushort", 16, false),
    ("int", 32, true),
    ("uint", 32, false),
    ("long", 64, true),
    ("ulong", 64, false),
];

/// Vector widths as they appear in names of types.
const LANES: [&str; 6] = ["", "2", "3", "4", "8", "16"];

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, TABLE, called, named, undeclared};
    use crate::frontend::options::BuildCall;
    use crate::frontend::{BuildOptions, Job, Profile};

    fn names_for(source: &str, options: &str) -> Vec<&'static str> {
        let options = BuildOptions::parse(options, BuildCall::Compile).unwrap();
        let profile = std::sync::Arc::new(Profile::default());
        let source = source.as_bytes();
        let job = Job { source, headers: &[], options: &options, profile: &profile, level: 2, whole: true };
        named(&job).iter().map(|row| row.name).collect()
    }

    #[test]
    fn only_libraries_for_named_functions_are_linked() {
        assert!(names_for("kernel void k() { as_int(1.0f); convert_float_rtz(1); }", "").is_empty());
        assert_eq!(
            names_for("x = vloada_half3(1, p); convert_char_sat", ""),
            ["saturating_conversions", "vloada_half3"]
        );
        assert_eq!(names_for("CONV(x)", "-DCONV=convert_uint4_rtz"), ["rounding_conversions"]);
        assert!(names_for("convert_double2_rtn(x)", "").is_empty());
        assert_eq!(names_for("atomic_load_explicit(p, o)", ""), ["atomics"]);
        assert_eq!(names_for("read_imagef(i, s, c)", ""), ["levels"]);
        // Names built by the preprocessor.
        assert_eq!(names_for("#define C(T) convert_##T", "").len(), 4);
        assert_eq!(
            names_for("#define C(R) convert_char4_sat ## R", ""),
            ["saturating_conversions", "rounding_conversions"]
        );
        assert_eq!(names_for("#define C(T) fmin##T", "").len(), 0);
    }

    #[test]
    fn imports_are_recognized_by_their_mangled_names() {
        let rows = called(["_Z12convert_int4Dv4_c", "_Z3maxjj", "barrier", "_Z11bit_reverset", "_Z99x", "_Z"]);
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["conversions", "bits"]);
    }

    #[test]
    fn missing_functions_are_recognized_by_diagnostics() {
        let rows = undeclared(
            "program.cl:1:2: error: use of undeclared identifier 'async_work_group_copy_2D2D'\n\
             program.cl:1:2: warning: 'read_imagef'\nprogram.cl:3:1: error: no matching function for call to 'read_imageh'\n",
        );
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["async_work_group_blocks", "levels"]);
        assert!(undeclared("x.cl:1:1: error: use of undeclared identifier 'convert_int'\n").is_empty());
    }

    #[test]
    fn every_row_has_a_name_and_functions_of_its_own() {
        let count: usize = TABLE.iter().map(|row| (row.functions)().len()).sum();
        assert_eq!(count, FUNCTIONS.len());
        for row in TABLE {
            assert_eq!(TABLE.iter().filter(|other| *other == row).count(), 1);
            assert!(!row.producer.is_empty() && !row.fault.is_empty() && row.source().lines().count() > 3);
        }
    }
}
