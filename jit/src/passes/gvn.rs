//! Global value numbering: an instruction that computes the same as a dominating one is replaced by it. This covers pure ops and
//! loads of memory that does not change. It also covers loads from addresses whose content is known ([`available`]), as a whole
//! or element by element. Float computations of cold blocks are not replaced by values from outside: those would occupy a
//! register on the hot path, which costs more. A branch on a condition that a dominating branch has decided becomes a jump.
//! Where a branch has found an integer equal to a constant, it is that constant: under `lid == 0`, `a[16 * lid]` is one element
//! rather than a gather.

mod available;
pub(super) mod scopes;

use clift_kir::analysis::{Cfg, Cold, DomTree, LoopForest};
use clift_kir::ops::TypeRule;
use clift_kir::{
    Block, BlockCall, Builder, DataFlowGraph, Function, Imm, Inst, InstData, IntCond, Opcode, Type, Value, WrapFlags,
};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Changed;
use super::memory::Escapes;
use super::util::{Replacements, is_invariant_load, set_jump};
use available::{AtEnds, Content};
use scopes::Scopes;

/// Visits the blocks in reverse postorder, so that definitions and what is known of memory come first.
pub(super) fn run(func: &mut Function) -> Changed {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let cold = Cold::new(func, &cfg);
    let loops = LoopForest::new(&cfg, &dom);
    let escapes = Escapes::new(func);
    let mut ends = AtEnds::new(func, &cfg, &dom, &loops);
    let mut table: FxHashMap<(InstData, Type, Option<Block>), Scopes<Value>> = FxHashMap::default();
    let mut replacements = Replacements::default();
    let mut removed: EntitySet<Inst> = EntitySet::new();
    let mut decided: FxHashMap<Value, Scopes<bool>> = FxHashMap::default();
    let mut specialized = false;
    let mut equalities: FxHashMap<Value, Scopes<Value>> = FxHashMap::default();
    let mut jumps: Vec<(Inst, BlockCall)> = Vec::new();
    let mut loads: Vec<KnownLoad> = Vec::new();
    for &block in cfg.rpo() {
        if let Some((condition, holds)) = decided_before(func, &cfg, block) {
            decided.entry(condition).or_default().insert(dom.span(block), holds);
            note_equalities(func, condition, holds, &mut |value, constant| {
                equalities.entry(value).or_default().insert(dom.span(block), constant);
            });
        }
        let equal = |value: Value| equalities.get(&value)?.at(dom.span(block)).copied();
        let mut memory = ends.at_start(block, &escapes);
        for &inst in func.layout.insts(block) {
            func.dfg.map_uses(inst, |v| {
                let value = replacements.get(v);
                equal(value).map_or(value, |constant| {
                    specialized = true;
                    constant
                })
            });
            let data = func.dfg.inst(inst);
            let invariant = is_invariant_load(func, inst);
            let Some(result) = func.dfg.single_result(inst) else {
                memory.note(func, inst, &escapes);
                if let Imm::Branch(calls) = &data.imm
                    && let Some(&holds) = decided.get(&data.args[0]).and_then(|known| known.at(dom.span(block)))
                {
                    jumps.push((inst, calls[usize::from(!holds)].clone()));
                }
                continue;
            };
            let ty = func.dfg.ty(result);
            if data.op.is_pure() || invariant {
                let cold_head = is_float_math(data.op).then(|| cold.head(block)).flatten();
                let found = table.entry((normalized(data), ty, cold_head)).or_default();
                match found.at(dom.span(block)) {
                    Some(&value) => {
                        let flags = data.imm.wrap();
                        intersect_wrap_flags(&mut func.dfg, value, flags);
                        replacements.set(result, value);
                        removed.insert(inst);
                    }
                    None => found.insert(dom.span(block), result),
                }
            } else if let Some(value) = memory.value(func, inst, ty) {
                replacements.set(result, value);
                removed.insert(inst);
            } else {
                match memory.elements(func, inst, ty) {
                    Some(elements) if let [Content::Whole(value)] = *elements => {
                        replacements.set(result, value);
                        removed.insert(inst);
                        continue;
                    }
                    Some(elements) => loads.push((block, inst, elements)),
                    None => {}
                }
                memory.note(func, inst, &escapes);
            }
        }
        ends.set(block, memory);
    }
    let changed = !loads.is_empty() || replacements.any() || specialized || !jumps.is_empty();
    assemble(func, loads);
    for (inst, call) in jumps {
        set_jump(func, inst, call);
    }
    replacements.apply(func);
    func.layout.remove_insts(&removed);
    Changed(changed)
}

/// A load in a block whose elements are known.
type KnownLoad = (Block, Inst, SmallVec<[Content; 4]>);

/// Replaces loads by their elements.
fn assemble(func: &mut Function, loads: Vec<KnownLoad>) {
    for of_block in loads.chunk_by(|a, b| a.0 == b.0) {
        let places: FxHashMap<Inst, usize> = func.layout.insts(of_block[0].0).iter().copied().zip(0..).collect();
        let mut added = 0;
        for &(block, inst, ref elements) in of_block {
            if let &[Content::Element(vector, lane)] = elements.as_slice() {
                let args = [vector].into_iter().collect();
                func.dfg.replace_inst(inst, InstData { op: Opcode::Extract, args, imm: Imm::Lane(lane) });
                continue;
            }
            let loc = func.locs[inst];
            let mut b = Builder::before(func, block, places[&inst] + added);
            b.set_loc(loc);
            let first = b.index();
            let args = elements.iter().map(|&content| match content {
                Content::Whole(value) => value,
                Content::Element(vector, lane) => b.extract(vector, u32::from(lane)),
            });
            let args = args.collect();
            added += b.index() - first;
            func.dfg.replace_inst(inst, InstData { op: Opcode::Vec, args, imm: Imm::None });
        }
    }
}

/// The condition that is known to hold or not to hold when a block executes: that of the only branch that leads there.
fn decided_before(func: &Function, cfg: &Cfg, block: Block) -> Option<(Value, bool)> {
    let &[pred] = cfg.preds(block) else { return None };
    let data = func.dfg.inst(func.layout.terminator(pred)?);
    let Imm::Branch(calls) = &data.imm else { return None };
    (calls[0].block != calls[1].block).then(|| (data.args[0], calls[0].block == block))
}

/// The most terms of a condition that are looked at.
const MAX_TERMS: usize = 64;

/// Reports the integers that equal constants if a condition holds or not, each with its constant.
fn note_equalities(func: &Function, condition: Value, holds: bool, found: &mut impl FnMut(Value, Value)) {
    // Terms may be shared by many others: each is looked at once.
    let mut seen: SmallVec<[(Value, bool); 8]> = SmallVec::new();
    let mut terms: SmallVec<[(Value, bool); 8]> = SmallVec::from_slice(&[(condition, holds)]);
    while let Some(term) = terms.pop()
        && seen.len() < MAX_TERMS
    {
        if seen.contains(&term) {
            continue;
        }
        seen.push(term);
        let (condition, holds) = term;
        let Some(inst) = func.dfg.def_inst(condition) else { continue };
        let data = func.dfg.inst(inst);
        let equality = if holds { IntCond::Eq } else { IntCond::Ne };
        let joined = if holds { Opcode::And } else { Opcode::Or };
        if data.op == joined {
            terms.extend(data.args.iter().rev().map(|&part| (part, holds)));
        } else if data.op == Opcode::Not {
            terms.push((data.args[0], !holds));
        } else if data.op == Opcode::Icmp && data.imm == Imm::IntCond(equality) {
            let (value, constant) = (data.args[0], data.args[1]);
            let is_constant = |value| func.dfg.as_const(value).is_some();
            if func.dfg.ty(value).is_int() && is_constant(constant) && !is_constant(value) {
                found(value, constant);
            }
        }
    }
}

/// Whether an op only computes with floats.
fn is_float_math(op: Opcode) -> bool {
    matches!(op.info().rule, TypeRule::Float1 | TypeRule::Float2 | TypeRule::Float3 | TypeRule::FloatCompare)
}

/// Keeps only those wrap flags of a value that also hold for another use of it.
pub(super) fn intersect_wrap_flags(dfg: &mut DataFlowGraph, value: Value, flags: WrapFlags) {
    if let Some(inst) = dfg.def_inst(value)
        && let Imm::Wrap(own) = dfg.inst(inst).imm
    {
        dfg.inst_mut(inst).imm = (own & flags).imm();
    }
}

/// The normal form of a computation: operands of commutative ops in order of their numbers, and no wrap flags.
pub(super) fn normalized(data: &InstData) -> InstData {
    let mut data = data.clone();
    if let Imm::Wrap(_) = data.imm {
        data.imm = Imm::None;
    }
    if data.op.commutes() && data.args[0] > data.args[1] {
        data.args.swap(0, 1);
    }
    data
}
