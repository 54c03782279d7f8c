//! Machine code before register allocation: blocks of instructions over virtual registers, and the view of them that the
//! allocator requires.
//!
//! There are three classes of registers: scalars of up to 64 bits ([`GPR`]), vectors and scalar floats ([`ZMM`]), and masks
//! ([`MASK`]). The fields of an instruction refer to its operands by index, so that the allocator's result can be used without
//! rewriting instructions. Instructions that are more than one row of the table (jumps, calls, atomic loops) have kinds of their
//! own.
//!
//! Deliberately not here: instruction selection (`select`), and encoding (`emit.rs`, `encode.rs`).

use regalloc2::{
    Block, Function, Inst, InstRange, Operand, OperandConstraint, OperandKind, PReg, PRegSet, RegClass, VReg,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Level;
use super::encode::{InstFormat, InstRow, Map, OperandSize};
use super::pool::PoolOffset;
use super::table::{KMOVQ, LEA, MOV, MOV_IMM, MOVSX8, MOVSX16, MOVSXD, MOVZX8, MOVZX16, VMOVAPS};

/// Scalar integers, addresses, Booleans.
pub(super) const GPR: RegClass = RegClass::Int;
/// Vectors and scalar floats.
pub(super) const ZMM: RegClass = RegClass::Float;
/// Masks.
pub(super) const MASK: RegClass = RegClass::Vector;

pub(super) const RAX: PReg = PReg::new(0, GPR);
pub(super) const RCX: PReg = PReg::new(1, GPR);
pub(super) const RDX: PReg = PReg::new(2, GPR);

/// The legacy instructions that do nothing but compute a register. Others set the flags, which later instructions may use.
const KEEP_FLAGS: [InstRow; 8] = [MOV, MOV_IMM, MOVZX8, MOVZX16, MOVSX8, MOVSX16, MOVSXD, LEA];

/// The registers in which the System V calling convention passes arguments.
pub(super) const ARGUMENTS: [PReg; 6] =
    [PReg::new(7, GPR), PReg::new(6, GPR), RDX, RCX, PReg::new(8, GPR), PReg::new(9, GPR)];

/// Callee-saved scalar registers: `rbx`, `r12` to `r15`.
pub(super) const CALLEE_SAVED: [u8; 5] = [3, 12, 13, 14, 15];

/// All registers that a call may change.
pub(super) fn clobbered_by_calls() -> PRegSet {
    let mut set = PRegSet::empty();
    for number in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
        set.add(PReg::new(number, GPR));
    }
    (0..32).for_each(|number| set.add(PReg::new(number, ZMM)));
    (1..8).for_each(|number| set.add(PReg::new(number, MASK)));
    set
}

/// A condition on the flags, numbered as in Intel's manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    Overflow = 0,
    Below = 2,
    AboveOrEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
    Parity = 10,
    NoParity = 11,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
}

impl Cond {
    /// The inverse condition.
    pub(super) fn inverse(self) -> Cond {
        match self {
            Cond::Overflow => unreachable!("broken invariant: nothing branches where there is no overflow"),
            Cond::Below => Cond::AboveOrEqual,
            Cond::AboveOrEqual => Cond::Below,
            Cond::Equal => Cond::NotEqual,
            Cond::NotEqual => Cond::Equal,
            Cond::BelowOrEqual => Cond::Above,
            Cond::Above => Cond::BelowOrEqual,
            Cond::Parity => Cond::NoParity,
            Cond::NoParity => Cond::Parity,
            Cond::Less => Cond::GreaterOrEqual,
            Cond::GreaterOrEqual => Cond::Less,
            Cond::LessOrEqual => Cond::Greater,
            Cond::Greater => Cond::LessOrEqual,
        }
    }
}

/// The register field of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum RegField {
    Operand(u8),
    /// An extension of the opcode.
    Digit(u8),
}

/// The base of an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum BaseOperand {
    Operand(u8),
    /// An offset into the stack memory of the kernel's variables.
    Stack(u32),
}

/// The register or memory operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum RmField {
    Operand(u8),
    /// Base, index with the binary logarithm of its scale, displacement.
    Memory(BaseOperand, Option<(u8, u8)>, i32),
    /// An address in each lane; or, with a base and the binary logarithm of a scale, an index in each lane.
    Lanes(u8, Option<(u8, u8)>),
    Constant(PoolOffset),
}

/// An instruction that is a row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowInst {
    pub(super) row: InstRow,
    pub(super) size: OperandSize,
    pub(super) reg: RegField,
    pub(super) second: Option<u8>,
    pub(super) source: RmField,
    pub(super) mask: Option<u8>,
    pub(super) zeroing: bool,
    pub(super) broadcast: bool,
    pub(super) immediate: Option<(i64, u8)>,
    pub(super) locked: bool,
}

/// How an atomic loop computes the new value.
#[derive(Clone, Copy, Debug)]
pub(super) enum AtomicUpdate {
    /// With an instruction of two operands.
    By(InstRow),
    /// The operand, if comparing the old value with it gives the condition; else the old value.
    Where(Cond),
    /// As `Where`, but memory is not written if it keeps its value. For relaxed order: nothing else can be ordered by such a
    /// write.
    OnlyWhere(Cond),
}

/// The kind of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum InstKind {
    Row(RowInst),
    /// Clears all bits of the only operand, a vector.
    Zero,
    /// Sets all bits of the only operand, a vector or a mask.
    Ones,
    /// Loads a 64-bit constant into the only operand.
    Constant64(i64),
    /// Defines the operands as the function's arguments.
    Arguments,
    /// Jumps to the first successor.
    Jump,
    /// Branches to the first successor if the condition holds, else to the second.
    Branch(Cond),
    /// Jumps to the successor numbered by the first operand, which is known to be in range. The other operands are temporaries.
    JumpTable,
    /// Returns from the function.
    Return,
    /// Calls the function whose address is the first operand.
    Call,
    /// A compare-exchange loop. Operands: old value, address, value, temporary.
    AtomicLoop(AtomicUpdate, OperandSize),
    /// A full memory fence.
    Fence,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct MachInst {
    pub(super) kind: InstKind,
    pub(super) operands: SmallVec<[Operand; 4]>,
    pub(super) clobbers: PRegSet,
    /// The source location.
    pub(super) loc: clift_kir::Loc,
}

impl MachInst {
    /// The instruction that copies a whole register.
    pub(super) fn copy(to: VReg, from: VReg, level: Level) -> MachInst {
        let vector = if level == Level::Avx2 { VMOVAPS.as_vex() } else { VMOVAPS };
        let (row, size) = match to.class() {
            GPR => (MOV, OperandSize::S64),
            ZMM => (vector, OperandSize::vector(8 * level.vector_bytes())),
            MASK => (KMOVQ, OperandSize::X),
        };
        let plain = RowInst {
            row,
            size,
            reg: RegField::Operand(0),
            second: None,
            source: RmField::Operand(1),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        };
        let operands = SmallVec::from_iter([Operand::reg_def(to), Operand::reg_use(from)]);
        MachInst { kind: InstKind::Row(plain), operands, clobbers: PRegSet::empty(), loc: clift_kir::Loc::default() }
    }

    /// The instruction that defines a register, restricted to the lanes of a mask. The other lanes come from the register
    /// `others`, which the result overwrites, or are zero. `None` if the instruction has no masked form.
    pub(super) fn masked(
        &self,
        register: VReg,
        mask: VReg,
        others: Option<VReg>,
        size: OperandSize,
    ) -> Option<MachInst> {
        let InstKind::Row(mut plain) = self.kind else { return None };
        let in_registers = matches!(plain.source, RmField::Operand(_) | RmField::Constant(_));
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
                plain.renumber_operands();
            }
        }
        plain.mask = Some(operands.len() as u8);
        operands.push(Operand::reg_use(mask));
        Some(MachInst { kind: InstKind::Row(plain), operands, clobbers: self.clobbers, loc: self.loc })
    }

    /// Whether an instruction has no effect besides defining registers.
    fn is_pure(&self) -> bool {
        match self.kind {
            // Scatters also define a register: the rest of their mask.
            InstKind::Row(plain) => {
                (plain.row.format != InstFormat::Legacy || KEEP_FLAGS.contains(&plain.row))
                    && !matches!(plain.source, RmField::Lanes(..))
            }
            InstKind::Zero | InstKind::Ones | InstKind::Constant64(_) => true,
            InstKind::Arguments
            | InstKind::Jump
            | InstKind::Branch(_)
            | InstKind::JumpTable
            | InstKind::Return
            | InstKind::Call
            | InstKind::AtomicLoop(..)
            | InstKind::Fence => false,
        }
    }
}

impl MachInst {
    /// Whether the instruction is known to leave the flags as they are.
    pub(super) fn keeps_flags(&self) -> bool {
        match self.kind {
            InstKind::Row(plain) => {
                let conditional = plain.row.map == Map::M0F && matches!(plain.row.opcode & 0xf0, 0x40 | 0x90);
                plain.row.format == InstFormat::Legacy && (conditional || KEEP_FLAGS.contains(&plain.row))
            }
            InstKind::Zero | InstKind::Ones | InstKind::Constant64(_) => true,
            InstKind::Arguments
            | InstKind::Jump
            | InstKind::Branch(_)
            | InstKind::JumpTable
            | InstKind::Return
            | InstKind::Call
            | InstKind::AtomicLoop(..)
            | InstKind::Fence => false,
        }
    }
}

impl RowInst {
    /// Adjusts the operand indices after an operand was inserted in front.
    fn renumber_operands(&mut self) {
        let reg = match &mut self.reg {
            RegField::Operand(operand) => Some(operand),
            RegField::Digit(_) => None,
        };
        let (base, index) = match &mut self.source {
            RmField::Operand(operand) => (Some(operand), None),
            RmField::Lanes(operand, base) => (Some(operand), base.as_mut().map(|(at, _)| at)),
            RmField::Memory(BaseOperand::Operand(operand), index, _) => {
                (Some(operand), index.as_mut().map(|(at, _)| at))
            }
            RmField::Memory(BaseOperand::Stack(_), index, _) => (None, index.as_mut().map(|(at, _)| at)),
            RmField::Constant(_) => (None, None),
        };
        let all = [reg, self.second.as_mut(), base, index, self.mask.as_mut()];
        all.into_iter().flatten().for_each(|operand| *operand += 1);
    }
}

/// An edge to a successor.
#[derive(Clone, Debug)]
pub(super) struct MachEdge {
    pub(super) to: usize,
    pub(super) args: Vec<VReg>,
}

/// A block that instructions are being appended to.
#[derive(Clone, Debug, Default)]
pub(super) struct MachBlock {
    pub(super) params: Vec<VReg>,
    pub(super) insts: Vec<MachInst>,
    pub(super) edges: Vec<MachEdge>,
    /// Placed after all blocks that are not cold.
    pub(super) cold: bool,
}

/// Dead-instruction elimination: removes instructions without effects whose results nothing uses, but for those in `kept`:
/// selection has folded them into others.
pub(super) fn remove_dead_instructions(blocks: &mut [MachBlock], order: &[usize], vregs: usize, kept: &[VReg]) {
    let mut uses = vec![0u32; vregs];
    for register in kept {
        uses[register.vreg()] += 1;
    }
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
            if needless && insts[at].is_pure() {
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

/// Arguments of all edges from which on [`MachFunc::number_parameters_last`] renumbers values. Below, the quadratic step takes
/// milliseconds.
const MANY_INCOMING: usize = 2048;

/// A function with its blocks in final order, in the form the allocator requires.
#[derive(Debug)]
pub(super) struct MachFunc {
    pub(super) insts: Vec<MachInst>,
    pub(super) blocks: Vec<LaidOutBlock>,
    vregs: usize,
    /// Bytes of a vector register.
    vector_bytes: u32,
}

/// A block at its final place.
#[derive(Debug)]
pub(super) struct LaidOutBlock {
    pub(super) range: InstRange,
    pub(super) params: Vec<VReg>,
    pub(super) succs: Vec<Block>,
    preds: Vec<Block>,
    pub(super) args: Vec<Vec<VReg>>,
}

impl MachFunc {
    /// Lays out blocks in the given order, with cold blocks last.
    pub(super) fn new(blocks: Vec<MachBlock>, order: &[usize], vregs: usize, vector_bytes: u32) -> MachFunc {
        let (cold, warm): (Vec<usize>, Vec<usize>) =
            order.iter().copied().partition(|&block| blocks[block].cold && block != order[0]);
        let mut place = vec![0; blocks.len()];
        for (at, &block) in warm.iter().chain(&cold).enumerate() {
            place[block] = at;
        }
        let mut order: Vec<(usize, MachBlock)> = place.iter().copied().zip(blocks).collect();
        order.sort_unstable_by_key(|&(at, _)| at);
        let mut insts = Vec::new();
        let mut laid: Vec<LaidOutBlock> = Vec::with_capacity(order.len());
        for (_, block) in order {
            let first = Inst::new(insts.len());
            insts.extend(block.insts);
            let (succs, args) = block.edges.into_iter().map(|edge| (Block::new(place[edge.to]), edge.args)).unzip();
            let range = InstRange::new(first, Inst::new(insts.len()));
            laid.push(LaidOutBlock { range, params: block.params, succs, preds: Vec::new(), args });
        }
        for block in 0..laid.len() {
            for succ in laid[block].succs.clone() {
                laid[succ.index()].preds.push(Block::new(block));
            }
        }
        let mut func = MachFunc { insts, blocks: laid, vregs, vector_bytes };
        func.number_parameters_last();
        func
    }

    /// The number of parameters of blocks, and of arguments that edges give them.
    pub(super) fn params(&self) -> (usize, usize) {
        let count = |block: &LaidOutBlock| (block.params.len(), block.params.len() * block.preds.len());
        self.blocks.iter().map(count).fold((0, 0), |sum, block| (sum.0 + block.0, sum.1 + block.1))
    }

    /// Gives the parameters of blocks the highest numbers if there are many.
    ///
    /// In each block that a value is alive in, regalloc2 goes through the parameters of all blocks whose numbers are below that
    /// of the value (`blockparam_ins`), unless a value in between had several live ranges. A value that is alive in thousands
    /// of loops would make that quadratic.
    fn number_parameters_last(&mut self) {
        if self.params().1 < MANY_INCOMING {
            return;
        }
        let mut is_param = vec![false; self.vregs];
        let params = self.blocks.iter().flat_map(|block| &block.params);
        params.for_each(|param| is_param[param.vreg()] = true);
        let others = is_param.iter().filter(|&&is_param| !is_param).count();
        let (mut next, mut next_param) = (0, others);
        let mut number = |is_param: bool| {
            let next = if is_param { &mut next_param } else { &mut next };
            std::mem::replace(next, *next + 1)
        };
        let numbers: Vec<usize> = is_param.iter().map(|&is_param| number(is_param)).collect();
        let renumbered = |value: VReg| VReg::new(numbers[value.vreg()], value.class());
        for operand in self.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
            *operand = Operand::new(renumbered(operand.vreg()), operand.constraint(), operand.kind(), operand.pos());
        }
        for block in &mut self.blocks {
            for value in block.params.iter_mut().chain(block.args.iter_mut().flatten()) {
                *value = renumbered(*value);
            }
        }
    }

    /// A new value.
    pub(super) fn fresh(&mut self, class: RegClass) -> VReg {
        let value = VReg::new(self.vregs, class);
        self.vregs += 1;
        value
    }

    /// Inserts instructions before the last ones of blocks.
    pub(super) fn insert_at_ends(&mut self, mut inserted: FxHashMap<Block, Vec<MachInst>>) {
        let old = std::mem::take(&mut self.insts);
        let mut old = old.into_iter();
        for (at, block) in self.blocks.iter_mut().enumerate() {
            let first = Inst::new(self.insts.len());
            let count = block.range.len();
            self.insts.extend(old.by_ref().take(count.saturating_sub(1)));
            self.insts.extend(inserted.remove(&Block::new(at)).unwrap_or_default());
            self.insts.extend(old.by_ref().take(count.min(1)));
            block.range = InstRange::new(first, Inst::new(self.insts.len()));
        }
    }

    fn block(&self, block: Block) -> &LaidOutBlock {
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
        matches!(self.insts[inst.index()].kind, InstKind::Return)
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.insts[inst.index()].kind, InstKind::Jump | InstKind::Branch(_) | InstKind::JumpTable)
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
            RegClass::Float => self.vector_bytes as usize / 8,
            RegClass::Int | RegClass::Vector => 1,
        }
    }
}
