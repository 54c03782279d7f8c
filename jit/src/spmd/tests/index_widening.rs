//! Indices of real kernels: the strides of their accesses along the lanes, after index widening.

use clift_kir::{Module, Opcode, text};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Assumptions, Scope, Shape};
use crate::spmd::transform::{index_widening, normalize};

/// The result of the divergence analysis for the addresses of a kernel's loads and stores, in order: `=` for a uniform address, a
/// stride in bytes, a stride with a question mark and the number of checks, or `*` for varying. First without, then with the
/// assumptions of whole packs.
fn strides(module: &Module, kernel: usize) -> [String; 2] {
    let mut normal = normalize::run(&module.funcs[module.kernels[kernel].func]).unwrap();
    index_widening::run(&mut normal, 8);
    let general = Assumptions { local_below: Some(4097), ..Assumptions::lanes(8) };
    let whole = Assumptions { packs_aligned: true, ids_below: Some(1 << 31), ..general };
    [general, whole].map(|assumptions| {
        let func = &normal.func;
        let divergence = Divergence::new(func, &normal.cfg, Scope::Pack, &assumptions);
        let mut strides = Vec::new();
        for &block in normal.cfg.rpo() {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if data.op == Opcode::Load || data.op == Opcode::Store {
                    strides.push(match divergence.shape(data.args[0]) {
                        Shape::Uniform(_) => "=".to_owned(),
                        Shape::Affine { stride, .. } => stride.to_string(),
                        Shape::Varying => divergence
                            .conditional(data.args[0])
                            .map_or("*".to_owned(), |c| format!("{}?{}", c.stride, c.checks.len())),
                    });
                }
            }
        }
        strides.join(" ")
    })
}

/// Kernel, strides in the general variant, strides in the variant for whole packs.
const STRIDES: [(&str, &str, &str); 20] = [
    ("saxpy", "4?1 4?1 4?1", "4 4 4"),
    // A stride that is an argument is unknown.
    ("strided", "* 16?1 4?1", "* 16 4"),
    ("rows_int", "4?1 4?1", "4 4"),
    ("rows_uint", "4?1 4?1", "4?1 4?1"),
    ("rows_size", "4 4", "4 4"),
    ("volume", "4?1 4?1", "4 4"),
    ("masks_int", "* * * * * 4?1", "4 4 = = * 4"),
    ("masks_uint", "* * * * 4?1", "4 4 = * 4"),
    ("grid_stride", "4?1 4?1", "4?1 4?1"),
    ("group_stride", "4?1 4", "4 4"),
    ("multiply", "= 4?1 4?1", "= 4 4"),
    ("stencil", "4?1 4?1 4?1 4?1 4?1", "4 4 4 4 4"),
    ("clamped", "4?5 4?5 4?5 4?1", "4?4 4?4 4?4 4"),
    ("reduce", "4?1 4?1 4 4 4 4 = =", "4 4 4 4 4 4 = ="),
    ("flip", "4?1 -4?1", "4 -4?1"),
    ("records", "16?1 16?1 16?1 16?1", "16 16 16 16"),
    ("offsets", "= 4?1 4?1", "= 4 4"),
    // Below the first work-item, the index wraps.
    ("guarded", "4?1 4?1 4?1", "4?1 4 4"),
    ("shorts", "4 4?1", "4 4"),
    ("sorted", "4?1 * 4?1", "4 * 4"),
];

#[test]
fn strides_of_accesses() {
    let module = text::parse_module(include_str!("index_widening.kir")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.kernels.len(), STRIDES.len());
    for (i, kernel) in module.kernels.iter().enumerate() {
        let name = &module.funcs[kernel.func].name;
        let [general, whole] = strides(&module, i);
        assert_eq!((name.as_str(), general.as_str(), whole.as_str()), STRIDES[i]);
    }
}
