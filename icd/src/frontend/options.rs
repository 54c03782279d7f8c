//! Build options: parses the option strings of `clBuildProgram`, `clCompileProgram` and `clLinkProgram`.
//!
//! One table, [`OPTIONS`], lists every option, the calls that accept it, and its effect. Options that concern the source language
//! are passed to the front end as arguments, in the given order; options that concern code generation become
//! [`clift_jit::Options`]. No other module parses option strings.
//!
//! Options of other vendors' compilers that programs pass on every platform are accepted and have no effect. They cause no
//! remark in the build log, because applications take a log that is not empty for a warning. Unknown options are errors.
//!
//! Words are split by the rules of the POSIX shell: double quotes (which the specification allows around `-I` directories),
//! single quotes and backslashes quote blanks and each other.

use clift_jit::FastMath;
use serde::{Deserialize, Serialize};

use crate::caps::OPENCL_VERSION;

/// Which calls accept an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildCall {
    /// `clBuildProgram` and `clCompileProgram`.
    Compile,
    /// `clLinkProgram`.
    Link,
}

/// A version of OpenCL C that `-cl-std=` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Std {
    /// `CL1.0`.
    Cl10,
    /// `CL1.1`.
    Cl11,
    /// `CL1.2`: the default when a program names no version.
    Cl12,
    /// `CL2.0`.
    Cl20,
    /// `CL3.0`.
    Cl30,
    /// `CL3.1`.
    Cl31,
}

impl Std {
    /// Names and versions, oldest first.
    const NAMES: [(&'static str, Std); 6] = [
        ("CL1.0", Std::Cl10),
        ("CL1.1", Std::Cl11),
        ("CL1.2", Std::Cl12),
        ("CL2.0", Std::Cl20),
        ("CL3.0", Std::Cl30),
        ("CL3.1", Std::Cl31),
    ];

    /// Whether the device supports it.
    fn is_offered(self) -> bool {
        self < Std::Cl31 || OPENCL_VERSION >= (3, 1)
    }

    /// The version as in `-cl-std=`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, std)| *std == self).map_or("CL1.2", |(name, _)| name)
    }

    /// Whether the language allows work-groups of different sizes in one launch.
    pub fn non_uniform_work_groups(self) -> bool {
        self >= Std::Cl20
    }
}

/// The parsed option string of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// `-cl-std=`; `None` when it was not given.
    pub std: Option<Std>,
    /// Arguments for the front end in the given order: `-D`, `-I`, `-U`, warnings, precision of constants.
    pub front_end: Vec<String>,
    /// `-cl-opt-disable`.
    pub opt_disable: bool,
    /// `-cl-kernel-arg-info`.
    pub kernel_arg_info: bool,
    /// `-g`: device-side enqueue says why it failed.
    pub debug: bool,
    /// `-clift-vectorize-report`: the vectorizer's report is in the build log.
    pub vectorize_report: bool,
    /// `-cl-strict-aliasing`.
    pub strict_aliasing: bool,
    /// `-cl-uniform-work-group-size`.
    pub uniform_work_groups: bool,
    /// `-cl-no-subgroup-ifp`.
    pub dependent_sub_groups: bool,
    /// Fast-math flags.
    pub fast_math: FastMath,
    /// `-create-library`.
    pub create_library: bool,
    /// `-enable-link-options`.
    pub enable_link_options: bool,
}

/// How an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionValue {
    /// The option is the whole word.
    None,
    /// The value follows in the same word: `-cl-std=CL1.2`.
    Joined,
    /// The value follows in the same word or is the next one: `-DX`, `-D X`.
    JoinedOrNext,
    /// The value is the next word.
    Next,
    /// The value may follow in the same word: `-O`, `-O2`.
    Optional,
}

/// One row of [`OPTIONS`].
struct OptionRow {
    /// Its name, including `=` if the option has one.
    name: &'static str,
    /// Its meaning, for the reference; empty if it has no effect.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference is made by a test"))]
    doc: &'static str,
    /// Its value.
    value: OptionValue,
    /// Calls that accept it.
    stages: &'static [BuildCall],
    /// Its effect.
    apply: fn(&mut BuildOptions, &str) -> Result<(), String>,
}

const COMPILE: &[BuildCall] = &[BuildCall::Compile];
const LINK: &[BuildCall] = &[BuildCall::Link];
const BOTH: &[BuildCall] = &[BuildCall::Compile, BuildCall::Link];

/// Accepts an option that has no effect.
fn ignore(_: &mut BuildOptions, _: &str) -> Result<(), String> {
    Ok(())
}

/// Sets fast-math flags.
macro_rules! math {
    ($($field:ident),+) => {
        |o, _| { $(o.fast_math.$field = true;)+ Ok(()) }
    };
}

/// Every option, in the order of the specification's text ("Compiler Options", "Linker Options").
const OPTIONS: &[OptionRow] = &[
    // Preprocessor.
    OptionRow {
        name: "-D",
        doc: "defines a macro: `-D NAME`, `-D NAME=VALUE`",
        value: OptionValue::JoinedOrNext,
        stages: COMPILE,
        apply: define,
    },
    OptionRow {
        name: "-I",
        doc: "a directory in which `#include` looks",
        value: OptionValue::JoinedOrNext,
        stages: COMPILE,
        apply: |o, v| push(o, "-I", v),
    },
    OptionRow {
        name: "-U",
        doc: "removes the definition of a macro",
        value: OptionValue::JoinedOrNext,
        stages: COMPILE,
        apply: |o, v| push(o, "-U", v),
    },
    // Math intrinsics. Only the front end handles the precision of literals.
    OptionRow {
        name: "-cl-single-precision-constant",
        doc: "literals of type `double` are taken as `float`",
        value: OptionValue::None,
        stages: COMPILE,
        apply: |o, _| push(o, "-cl-single-precision-constant", ""),
    },
    OptionRow {
        name: "-cl-denorms-are-zero",
        doc: "denormals may be flushed to zero; ignored where keeping them costs nothing",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(denorms_are_zero),
    },
    // Division and square root are correctly rounded with or without it.
    OptionRow {
        name: "-cl-fp32-correctly-rounded-divide-sqrt",
        doc: "division and square root are correctly rounded with and without it",
        value: OptionValue::None,
        stages: COMPILE,
        apply: ignore,
    },
    // Optimization.
    OptionRow {
        name: "-cl-opt-disable",
        doc: "no optimization: one lane, and only the passes that correctness needs",
        value: OptionValue::None,
        stages: BOTH,
        apply: |o, _| {
            o.opt_disable = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-cl-strict-aliasing",
        doc: "objects of different types do not overlap; only clang uses it",
        value: OptionValue::None,
        stages: COMPILE,
        apply: |o, _| {
            o.strict_aliasing = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-cl-uniform-work-group-size",
        doc: "the global size is a multiple of the local size in every dimension",
        value: OptionValue::None,
        stages: COMPILE,
        apply: |o, _| {
            o.uniform_work_groups = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-cl-no-subgroup-ifp",
        doc: "no sub-group waits in a loop for another one of its work-group",
        value: OptionValue::None,
        stages: BOTH,
        apply: |o, _| {
            o.dependent_sub_groups = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-cl-mad-enable",
        doc: "a multiplication and an addition may be fused",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(mad_enable),
    },
    OptionRow {
        name: "-cl-no-signed-zeros",
        doc: "the sign of zero does not matter",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(no_signed_zeros),
    },
    OptionRow {
        name: "-cl-unsafe-math-optimizations",
        doc: "as `-cl-no-signed-zeros -cl-mad-enable -cl-denorms-are-zero`; expressions may be reassociated",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(unsafe_math, no_signed_zeros, mad_enable, denorms_are_zero),
    },
    OptionRow {
        name: "-cl-finite-math-only",
        doc: "there are no infinities and no NaNs",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(finite_only),
    },
    OptionRow {
        name: "-cl-fast-relaxed-math",
        doc: "as the two before; mathematical functions may have the larger errors of the specification's relaxed table",
        value: OptionValue::None,
        stages: BOTH,
        apply: math!(relaxed, finite_only, unsafe_math, no_signed_zeros, mad_enable, denorms_are_zero),
    },
    // Warnings. Clang's own `-W...` switches are passed on as they are.
    OptionRow {
        name: "-w",
        doc: "no warnings",
        value: OptionValue::None,
        stages: COMPILE,
        apply: |o, _| push(o, "-w", ""),
    },
    OptionRow {
        name: "-W",
        doc: "`-Werror`: warnings are errors; clang's switches, such as `-Wall`, where clang compiles",
        value: OptionValue::Joined,
        stages: COMPILE,
        apply: |o, v| push(o, "-W", v),
    },
    // Language version.
    OptionRow {
        name: "-cl-std=",
        doc: "the language: `CL1.0`, `CL1.1`, `CL1.2` (default), `CL2.0`, `CL3.0`, `CL3.1`",
        value: OptionValue::Joined,
        stages: COMPILE,
        apply: language,
    },
    // Argument information, debugging.
    OptionRow {
        name: "-cl-kernel-arg-info",
        doc: "`clGetKernelArgInfo` answers",
        value: OptionValue::None,
        stages: BOTH,
        apply: |o, _| {
            o.kernel_arg_info = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-g",
        doc: "`enqueue_kernel` says why it failed",
        value: OptionValue::None,
        stages: BOTH,
        apply: |o, _| {
            o.debug = true;
            Ok(())
        },
    },
    // Clift's own.
    OptionRow {
        name: "-clift-vectorize-report",
        doc: "the vectorizer's report is in the build log ([Performance](performance.md#the-report))",
        value: OptionValue::None,
        stages: BOTH,
        apply: |o, _| {
            o.vectorize_report = true;
            Ok(())
        },
    },
    // Optimization levels as in C compilers.
    OptionRow {
        name: "-O",
        doc: "`-O0` is `-cl-opt-disable`; `-O1` to `-O5` and `-Os` have no effect",
        value: OptionValue::Optional,
        stages: BOTH,
        apply: optimization,
    },
    // The input language, as in AMD's compiler, clang and cl_khr_spir.
    OptionRow {
        name: "-x",
        doc: "the input language: `cl`, `clc` or `spir`",
        value: OptionValue::JoinedOrNext,
        stages: COMPILE,
        apply: input_language,
    },
    OptionRow { name: "-spir-std=", doc: "", value: OptionValue::Joined, stages: COMPILE, apply: ignore },
    // cl_nv_compiler_options.
    OptionRow { name: "-cl-nv-verbose", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-nv-maxrregcount=", doc: "", value: OptionValue::Joined, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-nv-maxrregcount", doc: "", value: OptionValue::Next, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-nv-opt-level=", doc: "", value: OptionValue::Joined, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-nv-opt-level", doc: "", value: OptionValue::Next, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-nv-arch", doc: "", value: OptionValue::Next, stages: BOTH, apply: ignore },
    // Intel: scheduling, register and sub-group options of GPUs; the source's path for debuggers.
    OptionRow { name: "-cl-intel-", doc: "", value: OptionValue::Joined, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-fp64-gen-emu", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow {
        name: "-cl-poison-unsupported-fp64-kernels",
        doc: "",
        value: OptionValue::None,
        stages: BOTH,
        apply: ignore,
    },
    OptionRow { name: "-cl-match-sincospi", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-take-global-address", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow { name: "-profiling", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow { name: "-s", doc: "", value: OptionValue::Next, stages: COMPILE, apply: ignore },
    // AMD: contents of binaries, intermediate files.
    OptionRow { name: "-fbin-", doc: "", value: OptionValue::Joined, stages: BOTH, apply: ignore },
    OptionRow { name: "-fno-bin-", doc: "", value: OptionValue::Joined, stages: BOTH, apply: ignore },
    OptionRow { name: "-save-temps", doc: "", value: OptionValue::Optional, stages: BOTH, apply: ignore },
    // Apple.
    OptionRow { name: "-cl-auto-vectorize-enable", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    OptionRow { name: "-cl-auto-vectorize-disable", doc: "", value: OptionValue::None, stages: BOTH, apply: ignore },
    // Linking.
    OptionRow {
        name: "-create-library",
        doc: "makes a library for later links",
        value: OptionValue::None,
        stages: LINK,
        apply: |o, _| {
            o.create_library = true;
            Ok(())
        },
    },
    OptionRow {
        name: "-enable-link-options",
        doc: "a library's user may give options that change its mathematics",
        value: OptionValue::None,
        stages: LINK,
        apply: |o, _| {
            o.enable_link_options = true;
            Ok(())
        },
    },
];

/// Appends one front-end argument.
fn push(options: &mut BuildOptions, name: &str, value: &str) -> Result<(), String> {
    options.front_end.push(format!("{name}{value}"));
    Ok(())
}

/// `-D name[=definition]`.
fn define(options: &mut BuildOptions, value: &str) -> Result<(), String> {
    let name = value.split('=').next().unwrap_or_default();
    let identifier = name.split('(').next().unwrap_or_default();
    let first = identifier.chars().next();
    if !first.is_some_and(|c| c == '_' || c.is_alphabetic()) {
        return Err(format!("'{value}' does not begin with a macro name"));
    }
    push(options, "-D", value)
}

/// `-O`, `-O0` to `-O5`, `-Os`.
fn optimization(options: &mut BuildOptions, value: &str) -> Result<(), String> {
    match value {
        "0" => options.opt_disable = true,
        "" | "1" | "2" | "3" | "4" | "5" | "s" => {}
        _ => return Err(format!("unknown optimization level '{value}'")),
    }
    Ok(())
}

/// `-x language`.
fn input_language(_: &mut BuildOptions, value: &str) -> Result<(), String> {
    match value {
        "cl" | "clc" | "spir" => Ok(()),
        "clc++" | "clcpp" => Err(NO_CXX.to_owned()),
        _ => Err(format!("unsupported input language '{value}'")),
    }
}

/// The error for C++.
const NO_CXX: &str = "C++ for OpenCL (cl_ext_cxx_for_opencl) is not supported; OpenCL C up to 3.1 is";

/// `-cl-std=version`.
fn language(options: &mut BuildOptions, value: &str) -> Result<(), String> {
    if value.to_ascii_lowercase().starts_with("clc++") {
        return Err(NO_CXX.to_owned());
    }
    let (_, std) = Std::NAMES
        .iter()
        .find(|(name, std)| *name == value && std.is_offered())
        .ok_or_else(|| format!("unknown language version '{value}'"))?;
    options.std = Some(*std);
    Ok(())
}

impl BuildOptions {
    /// Reads an option string.
    ///
    /// # Errors
    /// A message for the build log that names the option that is unknown or belongs to another call. The caller's error code is
    /// `CL_INVALID_BUILD_OPTIONS`, `CL_INVALID_COMPILER_OPTIONS` or `CL_INVALID_LINKER_OPTIONS`.
    pub fn parse(text: &str, stage: BuildCall) -> Result<Self, String> {
        let words = shlex::split(text).ok_or_else(|| format!("unbalanced quotes in the build options: {text}"))?;
        let mut options = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let row = OPTIONS
                .iter()
                .find(|row| match row.value {
                    OptionValue::None | OptionValue::Next => word == row.name,
                    OptionValue::Optional => word.starts_with(row.name),
                    OptionValue::Joined => word.len() > row.name.len() && word.starts_with(row.name),
                    OptionValue::JoinedOrNext => word.starts_with(row.name),
                })
                .ok_or_else(|| format!("unknown option '{word}'"))?;
            if !row.stages.contains(&stage) {
                return Err(match stage {
                    BuildCall::Compile => format!("option '{word}' is valid only for clLinkProgram"),
                    BuildCall::Link => format!("option '{word}' is not valid for clLinkProgram"),
                });
            }
            let joined = &word[row.name.len()..];
            let next;
            let value = if matches!(row.value, OptionValue::JoinedOrNext | OptionValue::Next) && joined.is_empty() {
                next = words.next().ok_or_else(|| format!("option '{word}' requires a value"))?;
                &next
            } else {
                joined
            };
            if value.contains('\0') {
                return Err(format!("the value of option '{}' contains a NUL character", row.name));
            }
            (row.apply)(&mut options, value).map_err(|reason| format!("option '{}': {reason}", row.name))?;
        }
        if options.enable_link_options && !options.create_library {
            return Err("option '-enable-link-options' needs '-create-library'".to_owned());
        }
        Ok(options)
    }

    /// The language version to compile for: the given one, or the highest 1.x.
    pub fn language(&self) -> Std {
        self.std.unwrap_or(Std::Cl12)
    }
}

/// Every option, the kind of its value, and its meaning: for the reference.
#[cfg(test)]
pub(crate) fn reference() -> impl Iterator<Item = (String, &'static str)> {
    OPTIONS.iter().map(|row| {
        let value = match row.value {
            OptionValue::None => "",
            OptionValue::Joined | OptionValue::Optional => "...",
            OptionValue::JoinedOrNext | OptionValue::Next => " ...",
        };
        (format!("{}{value}", row.name), row.doc)
    })
}

#[cfg(test)]
mod tests {
    use super::{BuildCall, BuildOptions, Std};

    fn compile(text: &str) -> BuildOptions {
        BuildOptions::parse(text, BuildCall::Compile).unwrap()
    }

    #[test]
    fn every_standard_compiler_option_is_accepted() {
        let o = compile(
            "-D A -DB=2 -I dir -I\"with blank\" -cl-single-precision-constant -cl-denorms-are-zero \
             -cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable -cl-strict-aliasing -cl-uniform-work-group-size \
             -cl-no-subgroup-ifp -cl-mad-enable -cl-no-signed-zeros -cl-unsafe-math-optimizations -cl-finite-math-only \
             -cl-fast-relaxed-math -w -Werror -cl-std=CL2.0 -cl-kernel-arg-info -g",
        );
        assert_eq!(
            o.front_end,
            ["-DA", "-DB=2", "-Idir", "-Iwith blank", "-cl-single-precision-constant", "-w", "-Werror"]
        );
        assert_eq!(o.language(), Std::Cl20);
        assert!(o.opt_disable && o.kernel_arg_info && o.uniform_work_groups);
        let m = o.fast_math;
        assert!(m.mad_enable && m.no_signed_zeros && m.unsafe_math && m.finite_only && m.denorms_are_zero && m.relaxed);
    }

    #[test]
    fn options_of_other_compilers_have_no_effect() {
        let text = "-O3 -O -x clc -x cl -spir-std=1.2 -cl-nv-verbose -cl-nv-maxrregcount=64 -cl-nv-maxrregcount 32 \
                    -cl-nv-opt-level 3 -cl-intel-256-GRF-per-thread -cl-intel-reqd-eu-thread-count=8 -s \"/a b/k.cl\" -fno-bin-llvmir \
                    -fbin-source -save-temps -save-temps=/tmp/x -cl-auto-vectorize-enable";
        assert_eq!(compile(text), BuildOptions::default());
        assert!(compile("-O0").opt_disable);
        assert_eq!(compile("-Wall -Wno-unused-variable").front_end, ["-Wall", "-Wno-unused-variable"]);
    }

    #[test]
    fn the_default_language_is_the_highest_1_x() {
        assert_eq!(compile("").language(), Std::Cl12);
        assert_eq!(compile("  \t\n ").language().name(), "CL1.2");
    }

    #[test]
    fn implied_fast_math_flags_are_set_and_no_others() {
        let m = compile("-cl-unsafe-math-optimizations").fast_math;
        assert!(m.unsafe_math && m.no_signed_zeros && m.mad_enable && m.denorms_are_zero);
        assert!(!m.finite_only && !m.relaxed);
        let m = compile("-cl-finite-math-only").fast_math;
        assert!(m.finite_only && !m.unsafe_math && !m.mad_enable);
    }

    #[test]
    fn quotes_and_backslashes_quote() {
        assert_eq!(compile(r#"-D "F(x)=x + 1" -D S=\"t\""#).front_end, ["-DF(x)=x + 1", r#"-DS="t""#]);
    }

    #[test]
    fn invalid_options_are_named_in_the_error() {
        for (text, part) in [
            ("-cl-frobnicate", "-cl-frobnicate"),
            ("file.cl", "file.cl"),
            ("-D", "requires a value"),
            ("-D 1x", "macro name"),
            ("-cl-std=", "-cl-std="),
            ("-cl-std=CL9.9", "CL9.9"),
            ("-D \"x", "unbalanced"),
            ("-create-library", "clLinkProgram"),
            ("-cl-std=CLC++", "cl_ext_cxx_for_opencl"),
            ("-cl-std=CLC++2021", "cl_ext_cxx_for_opencl"),
            ("-x clc++", "cl_ext_cxx_for_opencl"),
            ("-x c", "input language"),
            ("-Omax", "optimization level"),
            ("-s", "requires a value"),
            ("-cl-nv-frobnicate", "-cl-nv-frobnicate"),
        ] {
            let error = BuildOptions::parse(text, BuildCall::Compile).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn link_options() {
        let o = BuildOptions::parse("-create-library -enable-link-options", BuildCall::Link).unwrap();
        assert!(o.create_library && o.enable_link_options);
        for text in ["-enable-link-options", "-D X", "-cl-std=CL1.2", "-Werror", "-bogus"] {
            assert!(BuildOptions::parse(text, BuildCall::Link).is_err(), "{text}");
        }
        let o = BuildOptions::parse(
            "-cl-denorms-are-zero -cl-no-signed-zeros -cl-unsafe-math-optimizations -cl-finite-math-only \
             -cl-fast-relaxed-math -cl-no-subgroup-ifp",
            BuildCall::Link,
        )
        .unwrap();
        assert!(o.fast_math.relaxed);
    }
}
