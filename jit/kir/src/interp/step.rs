//! Execution of one instruction: the dispatch, and access to operands and results.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::memory::{Accessor, Fault, FaultKind, Memory};
use super::observe::{ItemId, Observer, Report};
use super::prepare::{CodeOrder, GlobalAddresses};
use super::{InterpError, InterpOptions, Interpreter, Outcome, lanes};
use crate::entities::{Block, Func, Inst, Value};
pub(super) use crate::eval::LaneVec;
use crate::function::Function;
use crate::inst::InstData;
use crate::ops::{AddressOp, Effects, Meaning, OpClass};
use crate::types::Type;

/// A function being executed.
#[derive(Debug)]
pub(super) struct Frame<'m> {
    pub(super) id: Func,
    pub(super) func: &'m Function,
    pub(super) offsets: &'m [u32],
    pub(super) block: Block,
    pub(super) index: usize,
    pub(super) registers: Vec<u64>,
    /// Addresses of the slots.
    pub(super) slots: SmallVec<[u64; 4]>,
    /// Number of iterations of each loop around the block, outer loops first; only maintained with `order`.
    pub(super) trips: SmallVec<[u32; 4]>,
    /// The order of the code, which says which work-item is ahead.
    pub(super) order: Option<&'m CodeOrder>,
}

impl Frame<'_> {
    /// First register of a value.
    pub(super) fn at(&self, value: Value) -> usize {
        self.offsets[value.as_u32() as usize] as usize
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.func.dfg.ty(value)
    }

    /// The bits of a scalar, or of lane 0.
    pub(super) fn scalar(&self, value: Value) -> u64 {
        self.registers[self.at(value)]
    }

    /// All lanes of a value.
    pub(super) fn lanes(&self, value: Value) -> &[u64] {
        let at = self.at(value);
        &self.registers[at..at + self.ty(value).lanes() as usize]
    }

    /// A copy of all lanes of a value.
    pub(super) fn lanes_vec(&self, value: Value) -> LaneVec {
        SmallVec::from_slice(self.lanes(value))
    }

    /// Sets all lanes of a value.
    pub(super) fn set(&mut self, value: Value, lanes: &[u64]) {
        let at = self.at(value);
        self.registers[at..at + lanes.len()].copy_from_slice(lanes);
    }

    /// The next instruction.
    pub(super) fn inst(&self) -> Inst {
        self.func.layout.insts(self.block)[self.index]
    }
}

/// What a thread of execution does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next instruction.
    Next,
    /// Continues at the position of the innermost frame.
    Moved,
    /// Waits at a barrier or collective operation, which is the next instruction.
    Wait,
    /// Yields to other threads.
    Yield,
    /// Has executed a yield: waits until all others that can go on have had a turn.
    GiveWay,
    /// The thread has ended.
    End,
    /// The whole run ends: out of fuel, or too many faults.
    Stop,
}

/// A thread of execution: a work-item, or a plain function.
#[derive(Debug)]
pub(super) struct Thread<'m> {
    pub(super) frames: Vec<Frame<'m>>,
    pub(super) id: Option<ItemId>,
    pub(super) access: Accessor,
    /// Whether it has already yielded at this instruction.
    pub(super) yielded: bool,
    /// Values returned from the outermost function.
    pub(super) returned: Vec<LaneVec>,
}

/// The state that the threads of a run share.
pub(super) struct Machine<'m, 'r> {
    pub(super) interpreter: Interpreter<'m>,
    pub(super) options: InterpOptions,
    pub(super) memory: &'r mut dyn Memory,
    pub(super) observer: &'r mut dyn Observer,
    pub(super) globals: GlobalAddresses,
    /// Work-group and launch, for queries and arguments.
    pub(super) place: LaunchContext<'r>,
    pub(super) outcome: Outcome,
    pub(super) seen: FxHashMap<(Func, Inst, FaultKind), usize>,
    /// Whether threads yield at memory accesses.
    pub(super) yields: bool,
}

/// The work-group and launch of a run; all zero for a plain function.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaunchContext<'r> {
    pub(super) work_dim: u32,
    pub(super) global_size: [u64; 3],
    pub(super) global_offset: [u64; 3],
    pub(super) enqueued_local_size: [u64; 3],
    pub(super) num_groups: [u64; 3],
    pub(super) local_size: [u64; 3],
    pub(super) args: &'r [u8],
    pub(super) arg_block: u64,
    pub(super) local_base: u64,
}

/// Maximum number of frames of a thread.
const MAX_DEPTH: usize = 256;

impl<'m> Machine<'m, '_> {
    /// Runs a thread until it waits, yields or ends.
    pub(super) fn run(&mut self, thread: &mut Thread<'m>) -> Result<Flow, InterpError> {
        loop {
            match self.step(thread)? {
                Flow::Next => {
                    if let Some(frame) = thread.frames.last_mut() {
                        frame.index += 1;
                    }
                }
                Flow::Moved => {}
                flow @ (Flow::Wait | Flow::Yield | Flow::GiveWay | Flow::End | Flow::Stop) => return Ok(flow),
            }
        }
    }

    fn step(&mut self, thread: &mut Thread<'m>) -> Result<Flow, InterpError> {
        let Some(frame) = thread.frames.last_mut() else { return Ok(Flow::End) };
        let inst = frame.inst();
        let func: &'m Function = frame.func;
        let data = func.dfg.inst(inst);
        if self.yields && !thread.yielded {
            match data.op.info().effects {
                Effects::Read | Effects::Write | Effects::ReadWrite => {
                    thread.yielded = true;
                    return Ok(Flow::Yield);
                }
                Effects::Pure | Effects::Convergent | Effects::Terminator => {}
            }
        }
        thread.yielded = false;
        if self.outcome.steps >= self.options.fuel {
            self.outcome.out_of_fuel = true;
            return Ok(Flow::Stop);
        }
        self.outcome.steps += 1;
        self.observer.step(frame.id, inst, thread.id);
        let flow = self.execute(thread, inst, data)?;
        if self.outcome.too_many_faults { Ok(Flow::Stop) } else { Ok(flow) }
    }

    fn execute(&mut self, thread: &mut Thread<'m>, inst: Inst, data: &'m InstData) -> Result<Flow, InterpError> {
        match data.op.info().meaning {
            Meaning::Lanes(meaning) => lanes::lane_wise(frame(thread), inst, data, meaning),
            Meaning::Whole(meaning) => lanes::whole(frame(thread), inst, data, meaning),
            Meaning::Query | Meaning::Memory | Meaning::Control => return self.execute_by_class(thread, inst, data),
        }
        Ok(Flow::Next)
    }

    /// Executes an op whose meaning is not a function of its operands.
    fn execute_by_class(
        &mut self,
        thread: &mut Thread<'m>,
        inst: Inst,
        data: &'m InstData,
    ) -> Result<Flow, InterpError> {
        match data.op.class() {
            OpClass::Leaf(op) => self.leaf(op, thread, inst, data),
            OpClass::Query(op) => self.query(op, thread, inst, data),
            OpClass::Address(AddressOp::InSpace) => self.in_space(thread, inst, data),
            OpClass::Memory(op) => self.memory_op(op, thread, inst, data),
            OpClass::Image(op) => self.image_op(op, thread, inst),
            OpClass::Sync(op) => return Ok(self.sync_op(op, thread, inst)),
            // The work-items of a group execute it together.
            OpClass::Collective(_) => return Ok(Flow::Wait),
            OpClass::Call(op) => return self.call_op(op, thread, inst, data),
            OpClass::Terminator(op) => return Ok(self.terminator(op, thread, inst, data)),
            OpClass::Int(_)
            | OpClass::Float(_)
            | OpClass::Convert(_)
            | OpClass::Lane(_)
            | OpClass::Address(AddressOp::Addr) => {
                unreachable!("broken invariant: {:?} is a function of its operands", data.op)
            }
        }
        Ok(Flow::Next)
    }

    /// Reports a fault at an instruction.
    pub(super) fn fault(&mut self, thread: &Thread<'m>, inst: Inst, fault: Fault) {
        let Some(frame) = thread.frames.last() else { return };
        let key = (frame.id, inst, fault.kind());
        if let Some(&index) = self.seen.get(&key) {
            self.outcome.faults[index].count += 1;
            return;
        }
        if self.outcome.faults.len() >= self.options.max_faults {
            self.outcome.too_many_faults = true;
            return;
        }
        let report = Report {
            fault,
            func: frame.id,
            function: frame.func.name.clone(),
            inst,
            text: frame.func.inst_text(inst).to_string(),
            loc: frame.func.locs[inst],
            item: thread.id,
            count: 1,
        };
        self.observer.fault(&report);
        self.seen.insert(key, self.outcome.faults.len());
        self.outcome.faults.push(report);
    }

    /// Enters a function with arguments.
    pub(super) fn enter(&mut self, thread: &mut Thread<'m>, id: Func, args: &[LaneVec]) -> Result<(), InterpError> {
        let func = &self.interpreter.module.funcs[id];
        let prepared = self.interpreter.prepared.func(id);
        let Some(block) = func.layout.entry() else {
            return Err(InterpError::BadLaunch(format!("function `{}` has no body", func.name)));
        };
        let mut slots = SmallVec::new();
        for data in func.slots.values() {
            slots.push(self.memory.allocate(crate::types::Space::Private, data.size, data.align)?);
        }
        let registers = vec![0; prepared.words];
        let mut frame = Frame {
            id,
            func,
            offsets: &prepared.offsets,
            block,
            index: 0,
            registers,
            slots,
            trips: SmallVec::new(),
            order: prepared.order.as_ref(),
        };
        frame.trips.extend(frame.order.into_iter().flat_map(|order| order.loops(block)).map(|_| 0));
        for (&param, lanes) in func.dfg.params(block).iter().zip(args) {
            frame.set(param, lanes);
        }
        thread.frames.push(frame);
        Ok(())
    }

    /// Whether a thread may call another function.
    pub(super) fn may_call(&self, thread: &Thread<'m>) -> bool {
        thread.frames.len() < MAX_DEPTH
    }

    /// Leaves the innermost function.
    pub(super) fn leave(&mut self, thread: &mut Thread<'m>) -> Option<Frame<'m>> {
        let frame = thread.frames.pop()?;
        for &slot in &frame.slots {
            self.memory.release(slot);
        }
        Some(frame)
    }
}

/// The innermost frame of a thread that executes an instruction.
pub(super) fn frame<'t, 'm>(thread: &'t mut Thread<'m>) -> &'t mut Frame<'m> {
    thread.frames.last_mut().unwrap_or_else(|| unreachable!("broken invariant: a thread without a frame"))
}
