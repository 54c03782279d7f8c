//! Aligned loads of half vectors, and atomic loads and exchanges.

use std::fmt::Write;

/// `vloada_half3`.
pub(super) fn aligned_halves() -> String {
    let mut text = String::new();
    for space in ["__global", "__local", "__constant", "__private", "__generic"] {
        let _ = writeln!(
            text,
            "float3 IMPORTED vload_half3(size_t o, const {space} half *p);\n\
             float3 INLINE vloada_half3(size_t o, const {space} half *p) {{ return vload_half3(0, p + o * 4); }}"
        );
    }
    text
}

/// The address spaces of atomic objects.
const SPACES: [&str; 4] = ["__global", "__local", "__private", "__generic"];

const EXCHANGES: [&str; 2] = ["atomic_compare_exchange_strong_explicit", "atomic_compare_exchange_weak_explicit"];

/// The functions of OpenCL C 2.0 atomics.
pub(super) fn atomic_functions() -> Vec<String> {
    EXCHANGES.iter().chain(&["atomic_load_explicit"]).map(|name| (*name).to_owned()).collect()
}

/// Their definitions: all forms of `atomic_load` have the strongest semantics, which costs nothing; the default scope is the
/// device.
pub(super) fn atomics() -> String {
    let mut text = String::new();
    for ty in ["int", "uint", "long", "ulong", "float", "double"] {
        for space in SPACES {
            for qualifiers in ["volatile", "const volatile"] {
                let object = format!("{qualifiers} {space} atomic_{ty} *p");
                let _ = writeln!(
                    text,
                    "{ty} IMPORTED atomic_load({object});\n\
                     {ty} INLINE atomic_load_explicit({object}, memory_order o) {{ return atomic_load(p); }}\n\
                     {ty} INLINE atomic_load_explicit({object}, memory_order o, memory_scope s) {{ return atomic_load(p); }}"
                );
            }
            for (name, expected) in EXCHANGES.iter().flat_map(|name| SPACES.map(|expected| (name, expected))) {
                let start = format!(
                    "{name}(volatile {space} atomic_{ty} *p, {expected} {ty} *e, {ty} d, memory_order s, memory_order f"
                );
                let _ = writeln!(
                    text,
                    "bool IMPORTED {start}, memory_scope);\n\
                     bool INLINE {start}) {{ return {name}(p, e, d, s, f, memory_scope_device); }}"
                );
            }
        }
    }
    text
}
