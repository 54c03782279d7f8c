//! The shapes of named values, and the reasons why they are not more uniform.

use clift_kir::analysis::Cfg;
use clift_kir::{Function, Module, Opcode, Value, text};

use crate::spmd::analysis::divergence::{Divergence, Reason};
use crate::spmd::analysis::shape::{Assumptions, Scope, Shape};

struct Analyzed {
    module: Module,
    divergence: Divergence,
}

fn analyze(source: &str, scope: Scope) -> Analyzed {
    let module = text::parse_module(source).unwrap_or_else(|e| panic!("{e}"));
    let func = &module.funcs[module.kernels[0].func];
    let divergence = Divergence::new(func, &Cfg::new(func), scope, &WIDE);
    Analyzed { module, divergence }
}

impl Analyzed {
    fn func(&self) -> &Function {
        &self.module.funcs[self.module.kernels[0].func]
    }

    fn value(&self, name: &str) -> Value {
        let found = self.func().names.iter().find(|(_, n)| n.as_str() == name);
        *found.unwrap_or_else(|| panic!("no value {name}")).0
    }

    fn shape(&self, name: &str) -> Shape {
        self.divergence.shape(self.value(name))
    }

    fn reason(&self, name: &str) -> Reason {
        self.divergence.reason(self.value(name))
    }

    /// The op of the instruction that makes a value less uniform.
    fn root(&self, name: &str) -> Opcode {
        match self.divergence.root(self.value(name)) {
            (_, Reason::Op(inst) | Reason::Written(inst) | Reason::Join(inst) | Reason::LoopExit(inst)) => {
                self.func().dfg.inst(inst).op
            }
            (value, reason) => panic!("{value}: {reason:?}"),
        }
    }
}

/// The assumptions of the packed variant of a kernel.
const WIDE: Assumptions =
    Assumptions { width: 8, packs_aligned: true, ids_below: Some(1 << 31), local_below: Some(4097) };

fn affine(stride: i64, align: u32) -> Shape {
    Shape::Affine { stride, align }
}

const LAUNCH: Shape = Shape::Uniform(Scope::Launch);
const GROUP: Shape = Shape::Uniform(Scope::Group);
const PACK: Shape = Shape::Uniform(Scope::Pack);

const STRAIGHT: &str = r#"
global g0 "tile" local size 64 align 4
function f0 "k" canonical {
b0:
    v0 "x": i64 = global_id 0
    v1 "y": i64 = local_id 1
    v2 "n": i64 = arg 0
    v3 "group": i64 = group_id 0
    v4 "sum": i64 = iadd v2, v3
    v5 "twice": i64 = iadd v0, v0
    v6: i64 = const 3
    v7 "scaled": i64 = imul v6, v0
    v8 "shifted": i64 = shl v7, v6
    v9 "gone": i64 = isub v0, v0
    v10 "narrow": i32 = itrunc v8
    v11 "wide": i64 = sext v10
    v12 "mixed": i64 = iadd v0, v1
    v13 "p": ptr(global) = arg 8
    v14 "q": ptr(global) = addr scale 4 v13, v7
    v15 "product": i64 = imul v0, v0
    v16 "c": ptr(constant) = arg 16
    v17 "from_c": i32 = load align 4 v16
    v18 "from_p": i32 = load align 4 v13
    v19 "local": ptr(local) = global_addr g0
    v20 "from_local": i32 = load align 4 v19
    v21 "from_x": i32 = load align 4 v14
    v22 "neg": i64 = ineg v0
    v23 "h": ptr(host) = arg_addr 0
    v24 "from_h": i32 = load align 4 v23
    v25 "volatile": i32 = load align 4 volatile v16
    store align 4 alias 1 v14, v10
    v26 "other": i32 = load align 4 alias 2 v13
    ret
}
kernel f0 args 24
"#;

#[test]
fn shapes_of_straight_code() {
    let a = analyze(STRAIGHT, Scope::Group);
    for (name, shape) in [
        ("n", LAUNCH),
        ("group", GROUP),
        ("sum", GROUP),
        ("x", affine(1, 8)),
        ("y", PACK),
        ("twice", affine(2, 8)),
        ("scaled", affine(3, 8)),
        ("shifted", affine(24, 64)),
        ("gone", PACK),
        ("narrow", affine(24, 64)),
        ("wide", Shape::Varying),
        ("mixed", affine(1, 1)),
        ("q", affine(12, 1)),
        ("product", Shape::Varying),
        ("neg", affine(-1, 8)),
        ("from_c", GROUP),
        ("from_h", GROUP),
        ("from_p", PACK),
        ("from_local", GROUP),
        ("from_x", Shape::Varying),
        ("volatile", Shape::Varying),
        ("other", GROUP),
    ] {
        assert_eq!(a.shape(name), shape, "{name}");
    }
    assert_eq!(a.root("mixed"), Opcode::GlobalId);
    assert_eq!(a.root("from_p"), Opcode::Store);
    assert_eq!(a.reason("n"), Reason::None);
}

const SUB_GROUPS: &str = r#"
function f0 "k" canonical {
b0:
    v0: i64 = local_id 0
    v1 "x": i32 = itrunc v0
    v2: i32 = max_sub_group_size
    v3: i32 = sub_group_size
    v4 "number": i32 = sdiv v1, v2
    v5 "first": i32 = imul v4, v2
    v6 "lane": i32 = srem v1, v2
    v7 "by_size": i32 = udiv v1, v3
    v8: i64 = zext v2
    v9 "wide": i64 = udiv v0, v8
    v10: i32 = const 1
    v11: i32 = isub v2, v10
    v12 "masked": i32 = and v1, v11
    ret
}
kernel f0 args 0
"#;

/// A work-item's number divided by the size of a sub-group is the same for the whole pack.
#[test]
fn divisions_by_the_size_of_a_sub_group() {
    let a = analyze(SUB_GROUPS, Scope::Pack);
    for (name, shape) in [
        ("number", PACK),
        ("first", PACK),
        // The first lane's is zero.
        ("lane", affine(1, 1 << 31)),
        ("by_size", PACK),
        ("wide", PACK),
        ("masked", affine(1, 1 << 31)),
    ] {
        assert_eq!(a.shape(name), shape, "{name}");
    }
    // Between packs the width is not known, and rows that are not whole packs end in smaller sub-groups.
    let a = analyze(SUB_GROUPS, Scope::Group);
    assert_eq!(a.shape("number"), Shape::Varying);
    let func = a.func();
    let any = Assumptions { packs_aligned: false, ..WIDE };
    let divergence = Divergence::new(func, &Cfg::new(func), Scope::Pack, &any);
    assert_eq!(divergence.shape(a.value("number")), PACK);
    assert_eq!(divergence.shape(a.value("by_size")), Shape::Varying);
}

const CONTROL: &str = r#"
function f0 "k" canonical {
b0:
    v0: i64 = local_id 0
    v1 "x": i32 = itrunc v0
    v2 "n": i32 = arg 0
    v3: i32 = const 0
    v4: i32 = const 1
    v5: b1 = icmp eq v1, v3
    branch v5, b1, b2
b1:
    v6: b1 = icmp eq v2, v3
    branch v6, b3(v3), b3(v4)
b3(v7 "inner": i32):
    jump b4(v3, v2, v7)
b2:
    jump b4(v4, v2, v3)
b4(v8 "parted": i32, v9 "same": i32, v10: i32):
    jump b5(v3)
b5(v11 "i": i32):
    v12 "i1": i32 = iadd v11, v4
    v13: b1 = icmp slt v12, v1
    branch v13, b5(v12), b6(v11)
b6(v14 "left": i32):
    jump b7(v3, v3)
b7(v15 "j": i32, v16 "acc": i32):
    v17 "j1": i32 = iadd v15, v4
    v18 "invariant": i32 = iadd v2, v4
    v19 "acc1": i32 = iadd v16, v18
    v20: b1 = icmp slt v17, v2
    branch v20, b7(v17, v19), b8
b8:
    v21 "after": i32 = iadd v17, v18
    switch v1, [0: b9(v3), 1: b9(v4)], b9(v3)
b9(v22 "switched": i32):
    ret
}
kernel f0 args 8
"#;

#[test]
fn shapes_behind_branches_and_loops() {
    let a = analyze(CONTROL, Scope::Group);
    for (name, shape) in [
        ("inner", LAUNCH),
        ("parted", Shape::Varying),
        ("same", LAUNCH),
        ("i", LAUNCH),
        ("i1", LAUNCH),
        ("left", Shape::Varying),
        ("j", LAUNCH),
        ("acc1", LAUNCH),
        ("after", LAUNCH),
        ("switched", Shape::Varying),
    ] {
        assert_eq!(a.shape(name), shape, "{name}");
    }
    assert_eq!(a.root("parted"), Opcode::Branch);
    assert!(matches!(a.reason("left"), Reason::LoopExit(_)));
    let blocks = a.func().layout.blocks();
    let divergent: Vec<usize> = (0..blocks.len()).filter(|&i| a.divergence.diverges(blocks[i])).collect();
    let names: Vec<String> = divergent.iter().map(|&i| blocks[i].to_string()).collect();
    assert_eq!(divergent.len(), 3, "the first branch, the first loop, the switch: {names:?}");
    assert!(a.divergence.is_uniform(a.value("invariant")));
    assert_eq!(a.divergence.scope(), Scope::Group);
}

#[test]
fn uses_behind_a_divergent_loop_vary() {
    let direct = CONTROL.replace("b6(v11)\nb6(v14 \"left\": i32):", "b6\nb6:\n    v14 \"left\": i32 = iadd v12, v2");
    let a = analyze(&direct, Scope::Group);
    assert_eq!((a.shape("left"), a.shape("i1")), (Shape::Varying, Shape::Varying));
    assert_eq!(a.shape("i"), Shape::Varying, "it gets the next value");
}

#[test]
fn scopes() {
    let a = analyze(STRAIGHT, Scope::Pack);
    assert!(a.divergence.is_uniform(a.value("gone")) && !a.divergence.is_uniform(a.value("x")));
    let a = analyze(STRAIGHT, Scope::Launch);
    assert!(!a.divergence.is_uniform(a.value("group")) && a.divergence.is_uniform(a.value("n")));
}

/// A loop whose only exit is in one arm of a branch: all paths pass the exit's test, but some in a later iteration.
const EXIT_IN_ONE_ARM: &str = r#"
function f0 "k" canonical {
b0:
    v0 "x": i64 = global_id 0
    v1: i64 = const 0
    v2: i64 = const 1
    jump b1(v1, v1)
b1(v3 "level": i64, v4 "steps": i64):
    v5: i64 = ashr v0, v3
    v6: i64 = and v5, v2
    v7: b1 = icmp eq v6, v1
    branch v7, b2, b3
b2:
    v8: b1 = icmp eq v3, v1
    branch v8, b5, b4
b3:
    v9: i64 = iadd v3, v2
    v10 "steps1": i64 = iadd v4, v2
    jump b1(v9, v10)
b4:
    v11: i64 = isub v3, v2
    v12 "steps2": i64 = iadd v4, v2
    jump b1(v11, v12)
b5:
    v13 "left": i64 = iadd v3, v4
    ret
}
kernel f0 args 0
"#;

#[test]
fn paths_that_pass_a_block_in_different_iterations_meet_at_the_header() {
    let a = analyze(EXIT_IN_ONE_ARM, Scope::Group);
    for name in ["level", "steps", "left"] {
        assert_eq!(a.shape(name), Shape::Varying, "{name}");
    }
    assert!(matches!(a.reason("level"), Reason::Join(_)));
}
