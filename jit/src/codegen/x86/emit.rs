//! Emission: allocated instructions to bytes, with the stack frame, moves between registers and the stack, jumps and constants.
//!
//! The frame is aligned to 64 bytes below the saved base pointer. It contains spill slots, the kernel's variables, and the saved
//! registers of the caller.

use regalloc2::{Allocation, AllocationKind, Block, Edit, Inst, InstOrEdit, MachineEnv, Output, PReg, PRegSet};

use super::Level;
use super::code::{
    AtomicUpdate, BaseOperand, CALLEE_SAVED, Cond, GPR, InstKind, MASK, MachFunc, RAX, RegField, RmField, RowInst, ZMM,
};
use super::encode::{Fixup, InstEncoding, InstRow, Map, OperandSize, RmOperand};
use super::layout::{CodeLayout, JUMP};
use super::oracle;
use super::pool::{ALIGN, ConstantPool};
use super::table::{
    ADD, CALL_JUMP, CMOVCC, CMP, CMPXCHG, CMPXCHG8, KMOVQ, KMOVQ_TO, KXNORQ, LEA, MOV, MOV_TO, MOVSX8, MOVSX16, MOVSXD,
    MOVZX8, MOVZX16, VMOVAPS, VMOVUPS, VMOVUPS_TO, VPCMPEQD, VPTERNLOGD, VPXORD,
};

const STACK_POINTER: u8 = 4;

/// The allocatable registers. Mask register 0 cannot be allocated: as a mask operand it means that there is no mask.
pub(super) fn environment(level: Level) -> MachineEnv {
    let set = |numbers: &[usize], class| numbers.iter().map(|&number| PReg::new(number, class)).collect::<PRegSet>();
    let vectors: Vec<usize> = (0..if level == Level::Avx2 { 16 } else { 32 }).collect();
    let callee_saved = CALLEE_SAVED.map(usize::from);
    MachineEnv {
        preferred_regs_by_class: [
            set(&[0, 1, 2, 6, 7, 8, 9, 10, 11], GPR),
            set(&vectors, ZMM),
            set(&[1, 2, 3, 4, 5, 6, 7], MASK),
        ],
        non_preferred_regs_by_class: [set(&callee_saved, GPR), PRegSet::empty(), PRegSet::empty()],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

/// Machine code of a function.
#[derive(Debug)]
pub(super) struct Emitted {
    pub(super) bytes: Vec<u8>,
    /// The offset where the instructions end and the constants begin.
    pub(super) end: usize,
    /// Offsets at which the source location changes.
    pub(super) marks: Vec<(usize, clift_kir::Loc)>,
    pub(super) starts: Vec<usize>,
}

/// Emits a function after register allocation. `variables` is the size of the kernel's variables in bytes.
pub(super) fn emit(func: &MachFunc, output: &Output, pool: &ConstantPool, variables: u32, level: Level) -> Emitted {
    let mut emitter = Emitter {
        level,
        func,
        output,
        code: CodeLayout::default(),
        loc: None,
        final_targets: Vec::new(),
        constants: Vec::new(),
        tables: Vec::new(),
        spilled: output.num_spillslots as u32 * 8,
        frame: 0,
        saved: Vec::new(),
    };
    emitter.final_targets = emitter.final_targets();
    emitter.spilled = emitter.spilled.next_multiple_of(64);
    emitter.saved = emitter.saved_registers();
    let bytes = emitter.spilled + variables + emitter.saved.len() as u32 * 8;
    // The stack is aligned at calls.
    let calls = func.insts.iter().any(|inst| matches!(inst.kind, InstKind::Call));
    emitter.frame = bytes.max(u32::from(calls)).next_multiple_of(64);
    emitter.function();
    emitter.finish(pool)
}

/// A jump table: the instruction that takes its address, and the targets.
struct JumpTable {
    lea: Fixup,
    targets: Vec<Block>,
}

struct Emitter<'a> {
    level: Level,
    func: &'a MachFunc,
    output: &'a Output,
    code: CodeLayout,
    /// The source location of the last instruction.
    loc: Option<clift_kir::Loc>,
    /// For each block the block that is finally executed: blocks that only jump are skipped.
    final_targets: Vec<Block>,
    constants: Vec<Fixup>,
    tables: Vec<JumpTable>,
    /// Bytes of spill slots, at the start of the frame.
    spilled: u32,
    /// Bytes of the frame.
    frame: u32,
    /// Callee-saved registers that the function uses.
    saved: Vec<u8>,
}

/// Bytes of a page. The prologue touches each page of the frame.
const PAGE: u32 = 4096;

impl Emitter<'_> {
    fn saved_registers(&self) -> Vec<u8> {
        let mut used = PRegSet::empty();
        let mut note = |allocation: Allocation| {
            if let Some(register) = allocation.as_reg() {
                used.add(register);
            }
        };
        self.output.allocs.iter().copied().for_each(&mut note);
        for (_, Edit::Move { from, to }) in &self.output.edits {
            note(*from);
            note(*to);
        }
        CALLEE_SAVED.into_iter().filter(|&number| used.contains(PReg::new(usize::from(number), GPR))).collect()
    }

    fn put(&mut self, encoding: InstEncoding) {
        let code = self.code.bytes();
        let start = code.len();
        if let Some(fixup) = encoding.write(code) {
            self.constants.push(fixup);
        }
        if cfg!(debug_assertions) {
            oracle::check(&encoding, &code[start..]);
        }
    }

    fn two(&mut self, row: InstRow, size: OperandSize, reg: u8, rm: RmOperand) {
        self.put(InstEncoding::new(row, size, reg, rm));
    }

    /// The form of a vector instruction that the machine has.
    fn vector_row(&self, row: InstRow) -> InstRow {
        if self.level == Level::Avx2 { row.as_vex() } else { row }
    }

    /// A stack slot in the frame.
    fn stack(&self, offset: u32) -> RmOperand {
        RmOperand::Memory(STACK_POINTER, None, offset as i32)
    }

    fn function(&mut self) {
        if self.frame > 0 {
            // push rbp; mov rbp, rsp; and rsp, -64
            self.code.bytes().extend([0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0]);
            let mut left = self.frame;
            while left > 0 {
                let step = left.min(PAGE);
                self.code.bytes().extend([0x48, 0x81, 0xec]);
                self.code.bytes().extend(step.to_le_bytes());
                left -= step;
                if left > 0 {
                    // or dword ptr [rsp], 0
                    self.code.bytes().extend([0x83, 0x0c, 0x24, 0x00]);
                }
            }
            for (number, register) in self.saved.clone().into_iter().enumerate() {
                let rm = self.stack(self.frame - 8 * (number as u32 + 1));
                self.two(MOV_TO, OperandSize::S64, register, rm);
            }
        }
        for block in 0..self.func.blocks.len() {
            if self.final_targets[block].index() != block {
                continue;
            }
            self.code.start(Block::new(block));
            for item in self.output.block_insts_and_edits(self.func, Block::new(block)) {
                match item {
                    InstOrEdit::Edit(&Edit::Move { from, to }) => self.move_value(from, to),
                    InstOrEdit::Inst(inst) => self.inst(Block::new(block), inst),
                }
            }
        }
    }

    fn leave(&mut self) {
        for (number, register) in self.saved.clone().into_iter().enumerate() {
            let rm = self.stack(self.frame - 8 * (number as u32 + 1));
            self.two(MOV, OperandSize::S64, register, rm);
        }
        // vzeroupper
        self.code.bytes().extend([0xc5, 0xf8, 0x77]);
        if self.frame > 0 {
            self.code.bytes().push(0xc9);
        }
        self.code.bytes().push(0xc3);
    }

    fn move_value(&mut self, from: Allocation, to: Allocation) {
        let class = from.as_reg().or(to.as_reg()).map(PReg::class);
        let slot =
            |this: &Self, allocation: Allocation| allocation.as_stack().map(|slot| this.stack(8 * slot.index() as u32));
        let number = |allocation: Allocation| allocation.as_reg().map(|register| register.hw_enc() as u8);
        let (load, store, copy, size) = match class {
            Some(class) if class == GPR => (MOV, MOV_TO, MOV, OperandSize::S64),
            Some(class) if class == ZMM => {
                let size = OperandSize::vector(8 * self.level.vector_bytes());
                (self.vector_row(VMOVUPS), self.vector_row(VMOVUPS_TO), self.vector_row(VMOVAPS), size)
            }
            Some(_) => (KMOVQ, KMOVQ_TO, KMOVQ, OperandSize::X),
            None => unreachable!("broken invariant: a move from memory to memory"),
        };
        match (number(from), number(to), slot(self, from), slot(self, to)) {
            (Some(from), Some(to), ..) => self.two(copy, size, to, RmOperand::Register(from)),
            (Some(from), _, _, Some(to)) => self.two(store, size, from, to),
            (_, Some(to), Some(from), _) => self.two(load, size, to, from),
            _ => unreachable!("broken invariant: a move from memory to memory"),
        }
    }

    fn inst(&mut self, block: Block, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst.index()];
        if self.loc != Some(data.loc) {
            self.loc = Some(data.loc);
            self.code.loc(data.loc);
        }
        let output = self.output;
        let registers = output.inst_allocs(inst);
        let register = |operand: u8| match registers[usize::from(operand)] {
            allocation if allocation.kind() == AllocationKind::Reg => allocation.index() as u8 & 63,
            other => unreachable!("broken invariant: operand in {other}"),
        };
        let succs = &func.blocks[block.index()].succs;
        match data.kind {
            InstKind::Row(inst) => self.row_inst(&inst, register),
            InstKind::Zero => {
                let number = register(0);
                self.put(InstEncoding {
                    second: Some(number),
                    ..InstEncoding::new(self.vector_row(VPXORD), OperandSize::X, number, RmOperand::Register(number))
                });
            }
            InstKind::Ones if registers[0].as_reg().is_some_and(|register| register.class() == MASK) => {
                let number = register(0);
                self.put(InstEncoding {
                    second: Some(number),
                    ..InstEncoding::new(KXNORQ, OperandSize::X, number, RmOperand::Register(number))
                });
            }
            InstKind::Ones if self.level == Level::Avx2 => {
                let number = register(0);
                let encoding = InstEncoding::new(VPCMPEQD, OperandSize::Y, number, RmOperand::Register(number));
                self.put(InstEncoding { second: Some(number), ..encoding });
            }
            InstKind::Ones => {
                let number = register(0);
                let encoding = InstEncoding::new(VPTERNLOGD, OperandSize::Z, number, RmOperand::Register(number));
                self.put(InstEncoding { second: Some(number), immediate: Some((0xff, 1)), ..encoding });
            }
            InstKind::Constant64(value) => {
                let number = register(0);
                self.code.bytes().extend([0x48 | number >> 3, 0xb8 | number & 7]);
                self.code.bytes().extend(value.to_le_bytes());
            }
            InstKind::Arguments => {}
            InstKind::Jump => self.jump(block, succs[0]),
            InstKind::Branch(cond) => self.branch(block, cond, succs[0], succs[1]),
            InstKind::JumpTable => {
                let (index, base, entry) = (register(0), register(1), register(2));
                self.two(LEA, OperandSize::S64, base, RmOperand::Code(0));
                let Some(lea) = self.constants.pop() else { unreachable!("broken invariant: no displacement") };
                self.two(MOVSXD, OperandSize::S64, entry, RmOperand::Memory(base, Some((index, 2)), 0));
                self.two(ADD, OperandSize::S64, entry, RmOperand::Register(base));
                self.two(CALL_JUMP, OperandSize::S32, 4, RmOperand::Register(entry));
                let targets = succs.iter().map(|to| self.final_targets[to.index()]).collect();
                self.tables.push(JumpTable { lea, targets });
            }
            InstKind::Return => self.leave(),
            InstKind::Call => {
                self.code.bytes().extend([0xc5, 0xf8, 0x77]);
                self.two(CALL_JUMP, OperandSize::S32, 2, RmOperand::Register(register(0)));
            }
            InstKind::AtomicLoop(update, size) => self.atomic_loop(update, size, register(1), register(2), register(3)),
            InstKind::Fence => self.code.bytes().extend([0x0f, 0xae, 0xf0]),
        }
    }

    fn row_inst(&mut self, inst: &RowInst, register: impl Fn(u8) -> u8) {
        let rm = match inst.source {
            RmField::Operand(operand) => RmOperand::Register(register(operand)),
            RmField::Memory(base, index, disp) => {
                let index = index.map(|(operand, scale)| (register(operand), scale));
                match base {
                    BaseOperand::Operand(operand) => RmOperand::Memory(register(operand), index, disp),
                    BaseOperand::Stack(offset) => {
                        RmOperand::Memory(STACK_POINTER, index, (self.spilled + offset) as i32 + disp)
                    }
                }
            }
            RmField::Lanes(operand, base) => {
                RmOperand::Lanes(register(operand), base.map(|(base, scale)| (register(base), scale)))
            }
            RmField::Constant(constant) => RmOperand::Code(constant.0),
        };
        let reg = match inst.reg {
            RegField::Operand(operand) => register(operand),
            RegField::Digit(digit) => digit,
        };
        self.put(InstEncoding {
            row: inst.row,
            size: inst.size,
            reg,
            second: inst.second.map(&register),
            rm,
            mask: inst.mask.map(&register),
            zeroing: inst.zeroing,
            broadcast: inst.broadcast,
            immediate: inst.immediate,
            locked: inst.locked,
        });
    }

    /// For each block the block that is finally executed: blocks that only jump are skipped.
    fn final_targets(&self) -> Vec<Block> {
        let next = |block: Block| {
            let laid = &self.func.blocks[block.index()];
            let only =
                laid.range.len() == 1 && matches!(self.func.insts[laid.range.first().index()].kind, InstKind::Jump);
            let moves = self.output.block_insts_and_edits(self.func, block).count() > 1;
            (only && !moves && block.index() > 0).then(|| laid.succs[0])
        };
        let final_target = |block: usize| {
            let block = Block::new(block);
            let mut to = block;
            for _ in 0..self.func.blocks.len() {
                match next(to) {
                    Some(further) => to = further,
                    None => return to,
                }
            }
            // An empty endless loop.
            block
        };
        (0..self.func.blocks.len()).map(final_target).collect()
    }

    /// Whether `to` is emitted directly after `from`.
    fn follows(&self, from: Block, to: Block) -> bool {
        let is_emitted = |&next: &usize| self.final_targets[next].index() == next;
        (from.index() + 1..self.func.blocks.len()).find(is_emitted) == Some(to.index())
    }

    fn jump(&mut self, from: Block, to: Block) {
        let to = self.final_targets[to.index()];
        if !self.follows(from, to) {
            self.code.jump(JUMP, to);
        }
    }

    fn branch(&mut self, from: Block, cond: Cond, then: Block, otherwise: Block) {
        let (then, otherwise) = (self.final_targets[then.index()], self.final_targets[otherwise.index()]);
        let (cond, first, second) = match self.follows(from, then) {
            true => (cond.inverse(), otherwise, then),
            false => (cond, then, otherwise),
        };
        self.code.jump(0x70 | cond as u8, first);
        self.jump(from, second);
    }

    /// The old value is in `rax` and stays there.
    fn atomic_loop(&mut self, update: AtomicUpdate, size: OperandSize, address: u8, value: u8, new: u8) {
        let rax = RAX.hw_enc() as u8;
        let memory = RmOperand::Memory(address, None, 0);
        let signed = match update {
            AtomicUpdate::Where(cond) | AtomicUpdate::OnlyWhere(cond) => matches!(cond, Cond::Less | Cond::Greater),
            AtomicUpdate::By(_) => false,
        };
        let (extend, exchange) = match (size, signed) {
            (OperandSize::S8, false) => (Some(MOVZX8), CMPXCHG8),
            (OperandSize::S8, true) => (Some(MOVSX8), CMPXCHG8),
            (OperandSize::S16, false) => (Some(MOVZX16), CMPXCHG),
            (OperandSize::S16, true) => (Some(MOVSX16), CMPXCHG),
            _ => (None, CMPXCHG),
        };
        let whole = if size == OperandSize::S64 { OperandSize::S64 } else { OperandSize::S32 };
        self.two(extend.unwrap_or(MOV), whole, rax, memory);
        let start = self.code.bytes().len();
        let mut done = None;
        if let Some(extend) = extend {
            // A failed exchange leaves only the low bits in `rax`.
            self.two(extend, OperandSize::S32, rax, RmOperand::Register(rax));
        }
        match update {
            AtomicUpdate::By(row) => {
                self.two(MOV, whole, new, RmOperand::Register(rax));
                self.two(row, whole, new, RmOperand::Register(value));
            }
            AtomicUpdate::Where(cond) => {
                self.two(MOV, whole, new, RmOperand::Register(rax));
                self.two(CMP, whole, rax, RmOperand::Register(value));
                let cmov = InstRow { opcode: CMOVCC.opcode | cond as u8, map: Map::M0F, ..CMOVCC };
                self.two(cmov, whole, new, RmOperand::Register(value));
            }
            AtomicUpdate::OnlyWhere(cond) => {
                self.two(CMP, whole, rax, RmOperand::Register(value));
                // A short jump, of which the distance follows.
                self.code.bytes().extend([0x70 | cond.inverse() as u8, 0]);
                done = Some(self.code.bytes().len());
                self.two(MOV, whole, new, RmOperand::Register(value));
            }
        }
        self.put(InstEncoding { locked: true, ..InstEncoding::new(exchange, size, new, memory) });
        let distance = start as i64 - (self.code.bytes().len() as i64 + 2);
        self.code.bytes().extend([0x75, distance as u8]);
        if let Some(done) = done {
            let distance = self.code.bytes().len() - done;
            self.code.bytes()[done - 1] = distance as u8;
        }
    }

    fn finish(self, pool: &ConstantPool) -> Emitted {
        let placed = self.code.place(self.func.blocks.len());
        let mut code = placed.bytes.clone();
        let end = code.len();
        code.resize(end.next_multiple_of(ALIGN), 0);
        let base = code.len();
        code.extend_from_slice(pool.bytes());
        let patch = |code: &mut Vec<u8>, fixup: &Fixup, target: usize| {
            let at = placed.place(fixup.at as usize);
            let distance = target as i64 - (at + 4 + usize::from(fixup.trailing)) as i64;
            code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        };
        for fixup in &self.constants {
            patch(&mut code, fixup, base + fixup.target as usize);
        }
        let start = |block: Block| {
            placed.starts[block.index()].unwrap_or_else(|| unreachable!("broken invariant: {block:?} not emitted"))
        };
        for table in &self.tables {
            code.resize(code.len().next_multiple_of(4), 0);
            let at = code.len();
            patch(&mut code, &table.lea, at);
            for &target in &table.targets {
                let distance = start(target) as i64 - at as i64;
                code.extend((distance as i32).to_le_bytes());
            }
        }
        let starts = placed.starts.iter().flatten().copied().collect();
        Emitted { bytes: code, end, marks: placed.marks, starts }
    }
}
