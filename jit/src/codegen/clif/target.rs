//! Instruction-set descriptions: the host's with all its features, and other targets for tests.

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
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

/// A target with each register allocator.
#[derive(Clone)]
pub(super) struct Isas {
    /// The one for almost everything.
    pub(super) thorough: OwnedTargetIsa,
    /// For functions on which the other would take too long.
    pub(super) quick: OwnedTargetIsa,
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

/// A target's description with each allocator.
fn both(make: impl Fn(Flags) -> Result<OwnedTargetIsa, String>) -> Result<Isas, String> {
    Ok(Isas { thorough: make(flags("backtracking")?)?, quick: make(flags("single_pass")?)? })
}

/// The machine this runs on.
pub(super) fn host() -> Result<Isas, String> {
    both(|flags| cranelift_native::builder()?.finish(flags).map_err(|error| error.to_string()))
}

/// Any target, by triple and the names of its features.
#[cfg(test)]
pub(super) fn other(triple: &str, features: &[&str]) -> Result<Isas, String> {
    both(|flags| {
        let mut builder = cranelift_codegen::isa::lookup_by_name(triple).map_err(|error| error.to_string())?;
        for feature in features {
            builder.enable(feature).map_err(|error| error.to_string())?;
        }
        builder.finish(flags).map_err(|error| error.to_string())
    })
}
