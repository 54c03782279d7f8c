//! Control flow, calls, `printf`, requests and the clock. At barriers and collective operations a thread stops; `sync` executes
//! them.

use super::InterpError;
use super::memory::{Accessor, Fault};
use super::observe::{Lanes, PrintfCall};
use super::step::{Flow, LaneVec, Machine, Thread, frame};
use crate::entities::Inst;
use crate::eval::from_bytes;
use crate::function::Stage;
use crate::inst::{BlockCall, Imm, InstData};
use crate::ops::{CallOp, SyncOp, TerminatorOp};
use crate::types::{Elem, Space, Type};

impl<'m> Machine<'m, '_> {
    pub(super) fn terminator(
        &mut self,
        op: TerminatorOp,
        thread: &mut Thread<'m>,
        inst: Inst,
        data: &'m InstData,
    ) -> Flow {
        match (op, &data.imm) {
            (TerminatorOp::Jump, Imm::Jump(call)) => goto(thread, call),
            (TerminatorOp::Branch, Imm::Branch(calls)) => {
                let holds = frame(thread).scalar(data.args[0]) & 1 == 1;
                goto(thread, if holds { &calls[0] } else { &calls[1] })
            }
            (TerminatorOp::Switch, Imm::Switch(switch)) => {
                let selector = frame(thread).scalar(data.args[0]);
                let case = switch.cases.iter().find(|(value, _)| *value == selector);
                goto(thread, case.map_or(&switch.default, |(_, call)| call))
            }
            (TerminatorOp::Ret, _) => self.ret(thread, data),
            (TerminatorOp::Unreachable, _) => {
                self.fault(thread, inst, Fault::Unreachable);
                while self.leave(thread).is_some() {}
                Flow::End
            }
            (TerminatorOp::Jump | TerminatorOp::Branch | TerminatorOp::Switch, imm) => {
                unreachable!("broken invariant: {op:?} with {imm:?}")
            }
        }
    }

    pub(super) fn call_op(
        &mut self,
        op: CallOp,
        thread: &mut Thread<'m>,
        inst: Inst,
        data: &'m InstData,
    ) -> Result<Flow, InterpError> {
        match op {
            CallOp::Call => {
                let Imm::Func(callee) = data.imm else { unreachable!("broken invariant: call with {:?}", data.imm) };
                if !self.may_call(thread) {
                    self.fault(thread, inst, Fault::CallDepth);
                    while self.leave(thread).is_some() {}
                    return Ok(Flow::End);
                }
                let args: Vec<LaneVec> = data.args.iter().map(|&v| frame(thread).lanes_vec(v)).collect();
                self.enter(thread, callee, &args)?;
                return Ok(Flow::Moved);
            }
            CallOp::LibCall => unreachable!("broken invariant: a library function has a lane-wise meaning"),
            CallOp::Printf => self.printf(thread, inst, data),
            CallOp::Request => self.request(thread, inst, data),
            CallOp::Clock => {
                let time = self.observer.clock();
                let frame = frame(thread);
                let result = frame.func.dfg.result(inst);
                frame.set(result, &[time]);
            }
            CallOp::Check => {
                let frame = frame(thread);
                let operands = [0, 1, 2, 3].map(|i| frame.scalar(data.args[i]));
                let result = frame.func.dfg.result(inst);
                let allowed = self.observer.check(operands);
                frame.set(result, &[u64::from(allowed)]);
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn sync_op(&mut self, op: SyncOp, thread: &mut Thread<'m>, inst: Inst) -> Flow {
        match op {
            SyncOp::Barrier | SyncOp::NamedBarrier => Flow::Wait,
            SyncOp::Yield => {
                frame(thread).index += 1;
                Flow::GiveWay
            }
            SyncOp::Deadlock => {
                self.fault(thread, inst, Fault::Deadlock);
                Flow::Next
            }
        }
    }

    fn ret(&mut self, thread: &mut Thread<'m>, data: &InstData) -> Flow {
        let values: Vec<LaneVec> = data.args.iter().map(|&v| frame(thread).lanes_vec(v)).collect();
        self.leave(thread);
        let Some(caller) = thread.frames.last_mut() else {
            thread.returned = values;
            return Flow::End;
        };
        let call = caller.inst();
        let func = caller.func;
        for (&result, lanes) in func.dfg.results(call).iter().zip(&values) {
            caller.set(result, lanes);
        }
        // The caller is still at the call.
        Flow::Next
    }

    fn printf(&mut self, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let access = thread.access;
        let frame = frame(thread);
        let (format, values) = data.args.split_first().unwrap_or_else(|| unreachable!("broken invariant: bare printf"));
        let values = match *values {
            [descriptors, count, stored] if frame.func.stage == Stage::Legal => {
                let [descriptors, count, stored] = [descriptors, count, stored].map(|v| frame.scalar(v));
                self.stored_values(&access, descriptors, count, stored)
            }
            _ => values.iter().map(|&v| Lanes { ty: frame.ty(v), bits: frame.lanes(v).to_vec() }).collect(),
        };
        let call = PrintfCall {
            format: frame.scalar(*format),
            space: frame.ty(*format).elem.space().unwrap_or(Space::Generic),
            values,
        };
        let status = self.observer.printf(self.memory, &call);
        let result = frame.func.dfg.result(inst);
        frame.set(result, &[u64::from(status as u32)]);
    }

    fn request(&mut self, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let access = thread.access;
        let frame = frame(thread);
        let (number, operands) =
            data.args.split_first().unwrap_or_else(|| unreachable!("broken invariant: bare request"));
        let words: Vec<u64> = match *operands {
            [stored, count] if frame.func.stage == Stage::Legal => {
                let (stored, count) = (frame.scalar(stored), frame.scalar(count));
                let word = |i: u64| {
                    let mut bytes = [0; 8];
                    let _ = self.memory.read(&access, stored.wrapping_add(i * 8), &mut bytes);
                    u64::from_le_bytes(bytes)
                };
                (0..count.min(MAX_REQUEST_OPERANDS)).map(word).collect()
            }
            _ => operands.iter().map(|&v| frame.scalar(v)).collect(),
        };
        let answer = self.observer.request(frame.scalar(*number) as u32, &words);
        let result = frame.func.dfg.result(inst);
        frame.set(result, &[answer]);
    }

    /// The values of a `printf` at the legal stage. They are in memory, each with a descriptor of 8 bytes (the ABI's
    /// `PrintfArg`): class (0 integer, 1 float, 2 pointer), bytes of a lane, lanes, a zero, offset in the data.
    fn stored_values(&mut self, access: &Accessor, descriptors: u64, count: u64, stored: u64) -> Vec<Lanes> {
        let mut values = Vec::new();
        for i in 0..count.min(MAX_PRINTF_VALUES) {
            let mut descriptor = [0; 8];
            let _ = self.memory.read(access, descriptors.wrapping_add(i * 8), &mut descriptor);
            let [class, size, lanes, _, offset @ ..] = descriptor;
            let bits = u32::from(size) * 8;
            let elem = match class {
                0 => Elem::int(bits),
                1 => Elem::float(bits),
                _ => Some(Elem::Ptr(Space::Generic)),
            };
            let Some(ty) = elem.and_then(|elem| Type::new(elem, u32::from(lanes))) else { continue };
            let mut bytes = vec![0; ty.bytes() as usize];
            let address = stored.wrapping_add(u64::from(u32::from_le_bytes(offset)));
            let _ = self.memory.read(access, address, &mut bytes);
            values.push(Lanes { ty, bits: from_bytes(ty.elem, &bytes).to_vec() });
        }
        values
    }
}

/// Maximum number of values of a `printf` at the legal stage.
const MAX_PRINTF_VALUES: u64 = 1024;

/// Maximum number of operands of a request at the legal stage.
const MAX_REQUEST_OPERANDS: u64 = 4096;

/// Branches to a block: all arguments are read before any parameter is written.
fn goto(thread: &mut Thread<'_>, call: &BlockCall) -> Flow {
    let frame = frame(thread);
    let values: smallvec::SmallVec<[LaneVec; 4]> = call.args.iter().map(|&v| frame.lanes_vec(v)).collect();
    let func = frame.func;
    for (&param, lanes) in func.dfg.params(call.block).iter().zip(&values) {
        frame.set(param, lanes);
    }
    if let Some(order) = frame.order {
        order.follow(frame.block, call.block, &mut frame.trips);
    }
    frame.block = call.block;
    frame.index = 0;
    Flow::Moved
}
