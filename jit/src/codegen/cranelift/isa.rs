//! Cranelift's target descriptions: the host's with all its features, and other targets for tests.

use cranelift_codegen::isa::{Builder, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};

/// Features of a target that the translation depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    /// Fused multiply-add instructions.
    pub(super) fma: bool,
    /// 128-bit vectors with all the instructions that Cranelift's lowering of them requires.
    pub(super) simd: bool,
    /// Vector comparisons of floats with unordered conditions.
    pub(super) unordered: bool,
    /// Instructions that exist only on x86: float to integer conversions that do not saturate, blends by the top bits of lanes,
    /// the top bits of all lanes in a scalar register, and byte shuffles by variable numbers.
    pub(super) x86: bool,
}

impl Features {
    /// The features of a target.
    pub(super) fn of(isa: &dyn TargetIsa) -> Features {
        let set = |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
        match isa.name() {
            "x64" => Features {
                fma: set("has_fma"),
                simd: set("has_sse41"),
                unordered: true,
                x86: set("has_ssse3") && set("has_sse41"),
            },
            _ => Features { fma: true, simd: true, unordered: false, x86: false },
        }
    }
}

/// A target's descriptions for the different ways of compiling a function.
#[derive(Clone)]
pub(super) struct Isas {
    /// For almost all functions: the backtracking allocator.
    pub(super) backtracking: OwnedTargetIsa,
    /// For functions that would take too long with that: the single-pass allocator.
    pub(super) single_pass: OwnedTargetIsa,
    /// For functions with values that [`crate::codegen::demote`] has moved to stack slots: without Cranelift's optimizer, which
    /// would forward them from the stores to the loads and so keep them alive again.
    pub(super) unoptimized: OwnedTargetIsa,
    /// For functions whose 64-bit multiplications are all widening: without the instruction for full multiplications.
    pub(super) widening: OwnedTargetIsa,
}

/// Flags common to all targets.
fn flags(allocator: &str, opt_level: &str) -> Result<Flags, String> {
    let mut builder = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", opt_level),
        ("regalloc_algorithm", allocator),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        // Listings need to know where blocks begin.
        ("machine_code_cfg_info", "true"),
        // A frame larger than a page touches each of its pages: it cannot skip the guard page of a stack.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
    ] {
        builder.set(name, value).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(Flags::new(builder))
}

/// The feature with the instruction for full 64-bit vector multiplications.
const FULL_MULTIPLY: &str = "has_avx512dq";

/// All descriptions of a target.
fn all(make: impl Fn() -> Result<Builder, String>) -> Result<Isas, String> {
    let finish_at = |builder: Builder, allocator, opt_level| {
        builder.finish(flags(allocator, opt_level)?).map_err(|error| error.to_string())
    };
    let finish = |builder, allocator| finish_at(builder, allocator, "speed");
    let mut without = make()?;
    // Other architectures do not have this setting.
    if without.iter().any(|setting| setting.name == FULL_MULTIPLY) {
        without.set(FULL_MULTIPLY, "false").map_err(|error| format!("{FULL_MULTIPLY}: {error}"))?;
    }
    Ok(Isas {
        backtracking: finish(make()?, "backtracking")?,
        single_pass: finish(make()?, "single_pass")?,
        unoptimized: finish_at(make()?, "backtracking", "none")?,
        widening: finish(without, "backtracking")?,
    })
}

/// The host.
pub(super) fn host() -> Result<Isas, String> {
    all(|| cranelift_native::builder().map_err(str::to_owned))
}

/// Any target, by its triple and the names of its features.
#[cfg(test)]
pub(super) fn other(triple: &str, features: &[&str]) -> Result<Isas, String> {
    all(|| {
        let mut builder = cranelift_codegen::isa::lookup_by_name(triple).map_err(|error| error.to_string())?;
        for feature in features {
            builder.enable(feature).map_err(|error| error.to_string())?;
        }
        Ok(builder)
    })
}
