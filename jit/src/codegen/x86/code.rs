//! Machine code before registers are allocated: blocks of instructions over virtual registers, and what the allocator asks of them.
//!
//! Three classes of registers: scalars of up to 64 bits ([`GPR`]), vectors and scalar floats ([`ZMM`]), masks ([`MASK`]). An
//! instruction names its operands by their number in its list, so that the allocator's answer applies to it as it stands.
//! Instructions whose bytes are more than a row of the table (jumps, calls, atomic loops) are kinds of their own.
//!
//! Deliberately not here: which instructions a kernel becomes (`select`), and bytes (`emit.rs`).

use regalloc2::{
    Block, Function, Inst, InstRange, Operand, OperandConstraint, OperandKind, PReg, PRegSet, RegClass, VReg,
};
use smallvec::SmallVec;

use super::encode::{Format, Row, Size};
use super::pool::Constant;

/// Scalar integers, addresses, truth values.
pub(super) const GPR: RegClass = RegClass::Int;
/// Vectors and scalar floats.
pub(super) const ZMM: RegClass = RegClass::Float;
/// Masks.
pub(super) const MASK: RegClass = RegClass::Vector;

pub(super) const RAX: PReg = PReg::new(0, GPR);
pub(super) const RCX: PReg = PReg::new(1, GPR);
pub(super) const RDX: PReg = PReg::new(2, GPR);

/// The registers that arguments of the System V convention arrive in.
pub(super) const ARGUMENTS: [PReg; 6] =
    [PReg::new(7, GPR), PReg::new(6, GPR), RDX, RCX, PReg::new(8, GPR), PReg::new(9, GPR)];

/// Scalars that a call leaves as they are: `rbx`, `r12` to `r15`.
pub(super) const KEPT: [u8; 5] = [3, 12, 13, 14, 15];

/// All that a call may change.
pub(super) fn clobbered_by_calls() -> PRegSet {
    let mut set = PRegSet::empty();
    for number in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
        set.add(PReg::new(number, GPR));
    }
    (0..32).for_each(|number| set.add(PReg::new(number, ZMM)));
    (1..8).for_each(|number| set.add(PReg::new(number, MASK)));
    set
}

/// A condition on the flags, by the manual's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    Overflow = 0,
    Below = 2,
    AboveOrEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
}

impl Cond {
    /// The opposite.
    pub(super) fn inverse(self) -> Cond {
        match self {
            Cond::Overflow => unreachable!("broken invariant: nothing branches where there is no overflow"),
            Cond::Below => Cond::AboveOrEqual,
            Cond::AboveOrEqual => Cond::Below,
            Cond::Equal => Cond::NotEqual,
            Cond::NotEqual => Cond::Equal,
            Cond::BelowOrEqual => Cond::Above,
            Cond::Above => Cond::BelowOrEqual,
            Cond::Less => Cond::GreaterOrEqual,
            Cond::GreaterOrEqual => Cond::Less,
            Cond::LessOrEqual => Cond::Greater,
            Cond::Greater => Cond::LessOrEqual,
        }
    }
}

/// What stands in the register field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Operand(u8),
    /// Part of the opcode.
    Digit(u8),
}

/// Where an address begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    Operand(u8),
    /// A byte of the memory on the stack that the kernel's variables have.
    Stack(u32),
}

/// What stands in the field of a register or memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Operand(u8),
    /// Base, index with the logarithm of its scale, displacement.
    Memory(Base, Option<(u8, u8)>, i32),
    /// An address in each lane; with a base for all lanes, an index in each, and the logarithm of its scale.
    Lanes(u8, Option<(u8, u8)>),
    Constant(Constant),
}

/// An instruction that is a row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    pub(super) row: Row,
    pub(super) size: Size,
    pub(super) reg: Field,
    pub(super) second: Option<u8>,
    pub(super) source: Source,
    pub(super) mask: Option<u8>,
    pub(super) zeroing: bool,
    pub(super) broadcast: bool,
    pub(super) immediate: Option<(i64, u8)>,
    pub(super) locked: bool,
}

/// What the value in memory becomes in a loop of compare-exchanges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Update {
    /// By an instruction of two operands.
    By(Row),
    /// The operand, where the old value compared with it gives the condition.
    Where(Cond),
}

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Plain(Plain),
    /// All bits zero in the only operand, a vector.
    Zero,
    /// All bits set in the only operand, a vector or a mask.
    Ones,
    /// A constant of 64 bits in the only operand.
    Long(i64),
    /// The function's arguments in its operands.
    Arguments,
    /// To the first successor.
    Jump,
    /// To the first successor where the condition holds, else to the second.
    Branch(Cond),
    /// To the successor of the first operand's number, which is known to be in range; the others are temporary.
    Table,
    /// From the function.
    Return,
    /// Of the function whose address is the first operand.
    Call,
    /// Operands: old value, address, value, temporary.
    AtomicLoop(Update, Size),
    /// Orders all accesses.
    Fence,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct MachInst {
    pub(super) kind: Kind,
    pub(super) operands: SmallVec<[Operand; 4]>,
    pub(super) clobbers: PRegSet,
    /// The place in the source.
    pub(super) loc: clift_kir::Loc,
}

impl MachInst {
    /// The instruction that gives a register, made for the lanes of a mask alone; the others are those of another register, which
    /// the result replaces, or zero. `None` if it has no such form.
    pub(super) fn only_where(&self, register: VReg, mask: VReg, others: Option<VReg>, size: Size) -> Option<MachInst> {
        let Kind::Plain(mut plain) = self.kind else { return None };
        let in_registers = matches!(plain.source, Source::Operand(_) | Source::Constant(_));
        if !plain.row.is_evex() || plain.size != size || plain.mask.is_some() || !in_registers {
            return None;
        }
        let (at, result) = self.operands.iter().enumerate().find(|(_, operand)| operand.vreg() == register)?;
        if result.kind() != OperandKind::Def {
            return None;
        }
        let mut operands = self.operands.clone();
        match (result.constraint(), others) {
            (OperandConstraint::Reuse(tied), Some(others)) if operands[tied].vreg() == others => {}
            (OperandConstraint::Reuse(_), Some(_)) => return None,
            (_, None) => plain.zeroing = true,
            (_, Some(others)) => {
                operands[at] = Operand::reg_reuse_def(register, 0);
                operands.insert(0, Operand::reg_use(others));
                plain.move_operands();
            }
        }
        plain.mask = Some(operands.len() as u8);
        operands.push(Operand::reg_use(mask));
        Some(MachInst { kind: Kind::Plain(plain), operands, clobbers: self.clobbers, loc: self.loc })
    }

    /// Whether all that an instruction does is to give vectors or masks.
    fn only_gives(&self) -> bool {
        match self.kind {
            // Scattered stores give what is left of their mask.
            Kind::Plain(plain) => plain.row.format != Format::Plain && !matches!(plain.source, Source::Lanes(..)),
            Kind::Zero | Kind::Ones | Kind::Long(_) => true,
            Kind::Arguments
            | Kind::Jump
            | Kind::Branch(_)
            | Kind::Table
            | Kind::Return
            | Kind::Call
            | Kind::AtomicLoop(..)
            | Kind::Fence => false,
        }
    }
}

impl Plain {
    /// An operand was put before all others.
    fn move_operands(&mut self) {
        let reg = match &mut self.reg {
            Field::Operand(operand) => Some(operand),
            Field::Digit(_) => None,
        };
        let (base, index) = match &mut self.source {
            Source::Operand(operand) => (Some(operand), None),
            Source::Lanes(operand, base) => (Some(operand), base.as_mut().map(|(at, _)| at)),
            Source::Memory(Base::Operand(operand), index, _) => (Some(operand), index.as_mut().map(|(at, _)| at)),
            Source::Memory(Base::Stack(_), index, _) => (None, index.as_mut().map(|(at, _)| at)),
            Source::Constant(_) => (None, None),
        };
        let all = [reg, self.second.as_mut(), base, index, self.mask.as_mut()];
        all.into_iter().flatten().for_each(|operand| *operand += 1);
    }
}

/// A way out of a block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) args: Vec<VReg>,
}

/// A block while instructions are appended.
#[derive(Clone, Debug, Default)]
pub(super) struct MachBlock {
    pub(super) params: Vec<VReg>,
    pub(super) insts: Vec<MachInst>,
    pub(super) edges: Vec<Edge>,
    /// Out of the way of the others.
    pub(super) cold: bool,
}

/// Takes out vectors and masks that nothing needs: what selection found to be part of other instructions.
pub(super) fn sweep(blocks: &mut [MachBlock], order: &[usize], vregs: usize) {
    let mut uses = vec![0u32; vregs];
    let used = |operand: &&Operand| operand.kind() == OperandKind::Use;
    for block in blocks.iter() {
        for operand in block.insts.iter().flat_map(|inst| &inst.operands).filter(used) {
            uses[operand.vreg().vreg()] += 1;
        }
        for arg in block.edges.iter().flat_map(|edge| &edge.args) {
            uses[arg.vreg()] += 1;
        }
    }
    for &block in order.iter().rev() {
        let insts = &mut blocks[block].insts;
        let mut needed = vec![true; insts.len()];
        for at in (0..insts.len()).rev() {
            let mut results = insts[at].operands.iter().filter(|operand| operand.kind() == OperandKind::Def).peekable();
            let needless = results.peek().is_some() && results.all(|operand| uses[operand.vreg().vreg()] == 0);
            if needless && insts[at].only_gives() {
                for operand in insts[at].operands.iter().filter(used) {
                    uses[operand.vreg().vreg()] -= 1;
                }
                needed[at] = false;
            }
        }
        let mut needed = needed.into_iter();
        insts.retain(|_| needed.next().unwrap_or(true));
    }
}

/// A function with all blocks in their order, as the allocator wants it.
#[derive(Debug)]
pub(super) struct MachFunc {
    pub(super) insts: Vec<MachInst>,
    pub(super) blocks: Vec<Laid>,
    vregs: usize,
}

/// A block in its place.
#[derive(Debug)]
pub(super) struct Laid {
    pub(super) range: InstRange,
    params: Vec<VReg>,
    pub(super) succs: Vec<Block>,
    preds: Vec<Block>,
    args: Vec<Vec<VReg>>,
}

impl MachFunc {
    /// Lays out blocks in an order, but for cold ones, which come last.
    pub(super) fn new(blocks: Vec<MachBlock>, order: &[usize], vregs: usize) -> MachFunc {
        let (cold, warm): (Vec<usize>, Vec<usize>) =
            order.iter().copied().partition(|&block| blocks[block].cold && block != order[0]);
        let mut place = vec![0; blocks.len()];
        for (at, &block) in warm.iter().chain(&cold).enumerate() {
            place[block] = at;
        }
        let mut order: Vec<(usize, MachBlock)> = place.iter().copied().zip(blocks).collect();
        order.sort_unstable_by_key(|&(at, _)| at);
        let mut insts = Vec::new();
        let mut laid: Vec<Laid> = Vec::with_capacity(order.len());
        for (_, block) in order {
            let first = Inst::new(insts.len());
            insts.extend(block.insts);
            let (succs, args) = block.edges.into_iter().map(|edge| (Block::new(place[edge.to]), edge.args)).unzip();
            let range = InstRange::new(first, Inst::new(insts.len()));
            laid.push(Laid { range, params: block.params, succs, preds: Vec::new(), args });
        }
        for block in 0..laid.len() {
            for succ in laid[block].succs.clone() {
                laid[succ.index()].preds.push(Block::new(block));
            }
        }
        MachFunc { insts, blocks: laid, vregs }
    }

    fn block(&self, block: Block) -> &Laid {
        &self.blocks[block.index()]
    }
}

impl Function for MachFunc {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        self.block(block).range
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.block(block).succs
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.block(block).preds
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.block(block).params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        matches!(self.insts[inst.index()].kind, Kind::Return)
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.insts[inst.index()].kind, Kind::Jump | Kind::Branch(_) | Kind::Table)
    }

    fn branch_blockparams(&self, block: Block, _inst: Inst, succ: usize) -> &[VReg] {
        &self.block(block).args[succ]
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        &self.insts[inst.index()].operands
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        self.insts[inst.index()].clobbers
    }

    fn num_vregs(&self) -> usize {
        self.vregs
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Float => 8,
            RegClass::Int | RegClass::Vector => 1,
        }
    }
}
