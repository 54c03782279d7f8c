//! Instruction-set descriptions: the host's with all its features, and other targets for tests.

use cranelift_codegen::isa::{Builder, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};

/// What the translation itself must know of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    /// Fused multiply-add instructions.
    pub(super) fma: bool,
    /// 128-bit vectors with everything that Cranelift's lowering of them takes for granted.
    pub(super) simd: bool,
    /// Vector comparisons of floats with unordered conditions.
    pub(super) unordered: bool,
    /// Instructions that only x86 has: conversions of floats to integers that do not clamp, a blend by the top bits of lanes,
    /// the top bits of all lanes in a scalar register, shuffles of bytes by any numbers.
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

/// A target in the ways that functions are compiled for it.
#[derive(Clone)]
pub(super) struct Isas {
    /// The one for almost everything.
    pub(super) thorough: OwnedTargetIsa,
    /// For functions on which that would take too long: another register allocator.
    pub(super) quick: OwnedTargetIsa,
    /// For functions whose 64-bit products are all of widened lanes: without the instruction for general ones.
    pub(super) widening: OwnedTargetIsa,
}

/// Flags common to all targets.
fn flags(allocator: &str) -> Result<Flags, String> {
    let mut builder = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("regalloc_algorithm", allocator),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        // Where blocks begin, for listings.
        ("machine_code_cfg_info", "true"),
        ("probestack_strategy", "inline"),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
    ] {
        builder.set(name, value).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(Flags::new(builder))
}

/// The feature that brings the instruction for general products.
const PRODUCTS: &str = "has_avx512dq";

/// A target's description in each way.
fn all(make: impl Fn() -> Result<Builder, String>) -> Result<Isas, String> {
    let finish = |builder: Builder, allocator| builder.finish(flags(allocator)?).map_err(|error| error.to_string());
    let mut without = make()?;
    // Other architectures do not know it.
    if without.iter().any(|setting| setting.name == PRODUCTS) {
        without.set(PRODUCTS, "false").map_err(|error| format!("{PRODUCTS}: {error}"))?;
    }
    Ok(Isas {
        thorough: finish(make()?, "backtracking")?,
        quick: finish(make()?, "single_pass")?,
        widening: finish(without, "backtracking")?,
    })
}

/// The machine this runs on.
pub(super) fn host() -> Result<Isas, String> {
    all(|| cranelift_native::builder().map_err(str::to_owned))
}

/// Any target, by triple and the names of its features.
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
