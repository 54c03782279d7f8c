//! Control flow, calls, barriers, `printf`.

use super::InterpError;
use super::memory::Fault;
use super::observe::{Lanes, PrintfCall};
use super::step::{Flow, LaneVec, Machine, Thread, frame};
use crate::entities::Inst;
use crate::inst::{BlockCall, Imm, InstData};
use crate::ops::Opcode;
use crate::types::Space;

impl<'m> Machine<'m, '_> {
    pub(super) fn control(
        &mut self,
        thread: &mut Thread<'m>,
        inst: Inst,
        data: &'m InstData,
    ) -> Result<Flow, InterpError> {
        match (data.op, &data.imm) {
            (Opcode::Barrier, _) => Ok(Flow::Wait),
            (Opcode::Jump, Imm::Jump(call)) => Ok(goto(thread, call)),
            (Opcode::Branch, Imm::Branch(calls)) => {
                let truth = frame(thread).scalar(data.args[0]) & 1 == 1;
                Ok(goto(thread, if truth { &calls[0] } else { &calls[1] }))
            }
            (Opcode::Switch, Imm::Switch(switch)) => {
                let selector = frame(thread).scalar(data.args[0]);
                let case = switch.cases.iter().find(|(value, _)| *value == selector);
                Ok(goto(thread, case.map_or(&switch.default, |(_, call)| call)))
            }
            (Opcode::Ret, _) => Ok(self.ret(thread, data)),
            (Opcode::Unreachable, _) => {
                self.fault(thread, inst, Fault::Unreachable);
                while self.leave(thread).is_some() {}
                Ok(Flow::End)
            }
            (Opcode::Call, Imm::Func(callee)) => {
                if !self.may_call(thread) {
                    self.fault(thread, inst, Fault::CallDepth);
                    while self.leave(thread).is_some() {}
                    return Ok(Flow::End);
                }
                let args: Vec<LaneVec> = data.args.iter().map(|&v| frame(thread).lanes_vec(v)).collect();
                self.enter(thread, *callee, &args)?;
                Ok(Flow::Moved)
            }
            (Opcode::Printf, _) => {
                self.printf(thread, inst, data);
                Ok(Flow::Next)
            }
            (op, imm) => unreachable!("broken invariant: {op:?} with {imm:?} among control ops"),
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
        // The caller still stands at the call.
        Flow::Next
    }

    fn printf(&mut self, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let frame = frame(thread);
        let (format, values) = data.args.split_first().unwrap_or_else(|| unreachable!("broken invariant: bare printf"));
        let call = PrintfCall {
            format: frame.scalar(*format),
            space: frame.ty(*format).elem.space().unwrap_or(Space::Generic),
            values: values.iter().map(|&v| Lanes { ty: frame.ty(v), bits: frame.lanes(v).to_vec() }).collect(),
        };
        let status = self.observer.printf(self.memory, &call);
        let result = frame.func.dfg.result(inst);
        frame.set(result, &[u64::from(status as u32)]);
    }
}

/// Goes to a block: all arguments are read before any parameter is written.
fn goto(thread: &mut Thread<'_>, call: &BlockCall) -> Flow {
    let frame = frame(thread);
    let values: smallvec::SmallVec<[LaneVec; 4]> = call.args.iter().map(|&v| frame.lanes_vec(v)).collect();
    let func = frame.func;
    for (&param, lanes) in func.dfg.params(call.block).iter().zip(&values) {
        frame.set(param, lanes);
    }
    frame.block = call.block;
    frame.index = 0;
    Flow::Moved
}
