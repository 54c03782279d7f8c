//! Calls: library functions lane by lane; `printf`, requests, the clock and checks through the runtime's callbacks; and the
//! functions that kernels call.

use std::mem::offset_of;

use clift_include::abi::{Callbacks, WgContext};
use clift_kir::ops::CallOp;
use clift_kir::{Imm, Inst, Value};
use regalloc2::{Operand, PReg, VReg};
use smallvec::SmallVec;

use super::{AddressBase, MemAddress, RegMem, Selector, class, wrong_imm};
use crate::codegen::host;
use crate::codegen::x86::code::{ARGUMENTS, GPR, InstKind, RAX, ZMM, clobbered_by_calls};
use crate::codegen::x86::encode::OperandSize;
use crate::codegen::x86::table as t;

impl Selector<'_> {
    /// Ends the launch with a fault, because its work-items wait for one another.
    pub(super) fn deadlock(&mut self) {
        let text = host::deadlock(&self.legal.name);
        let constant = self.pool.add(text.as_bytes());
        let pointer = self.g1(t::LEA, OperandSize::S64, RegMem::Bytes(constant));
        let length = self.number(text.len() as i64, 64);
        let context = self.context();
        let callee = self.callback(context, offset_of!(Callbacks, fault));
        self.call(callee, &[context, pointer, length], false);
    }

    pub(super) fn call_op(&mut self, op: CallOp, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let args: Vec<VReg> = data.args.iter().map(|&arg| self.get(arg)).collect();
        match op {
            CallOp::LibCall => {
                let Imm::Lib(function) = data.imm else { wrong_imm(&data.imm) };
                let (trampoline, implementation) =
                    host::trampoline(function.implementation(self.arg_type(inst, 0).elem));
                let callee = self.number(trampoline as i64, 64);
                let mut operands = vec![self.number(implementation as i64, 64)];
                operands.extend(&args);
                let result = self.call(callee, &operands, class(self.result_type(inst)) == ZMM);
                self.set(inst, result);
            }
            CallOp::Printf => self.call_back(inst, offset_of!(Callbacks, printf), &args),
            CallOp::Request => self.call_back(inst, offset_of!(Callbacks, request), &args),
            CallOp::Check => self.call_back(inst, offset_of!(Callbacks, check), &args),
            CallOp::Clock => {
                let context = self.context();
                let callee = self.callback(context, offset_of!(Callbacks, clock));
                let result = self.call(callee, &[], false);
                self.set(inst, result);
            }
            CallOp::Call => {
                let Imm::Func(callee) = data.imm else { wrong_imm(&data.imm) };
                let callee = self.number(self.data.function(callee) as i64, 64);
                let context = self.context();
                self.call(callee, &[context, args[0]], false);
            }
        }
    }

    /// The launch context, which is the entry's first parameter.
    fn context(&mut self) -> VReg {
        let entry = self.legal.layout.entry();
        let context: Option<Value> = entry.and_then(|entry| self.legal.dfg.params(entry).first().copied());
        match context {
            Some(context) => self.get(context),
            None => unreachable!("broken invariant: function without a context"),
        }
    }

    /// Calls the callback at an offset of [`Callbacks`], with the launch context and other arguments.
    fn call_back(&mut self, inst: Inst, offset: usize, args: &[VReg]) {
        let context = self.context();
        let callee = self.callback(context, offset);
        let operands: Vec<VReg> = std::iter::once(context).chain(args.iter().copied()).collect();
        let result = self.call(callee, &operands, false);
        self.set(inst, result);
    }

    fn callback(&mut self, context: VReg, offset: usize) -> VReg {
        let at = |base, disp: usize| {
            RegMem::Memory(MemAddress { base: AddressBase::Register(base), index: None, disp: disp as i32 })
        };
        let callbacks = self.g1(t::MOV, OperandSize::S64, at(context, offset_of!(WgContext, callbacks)));
        self.g1(t::MOV, OperandSize::S64, at(callbacks, offset))
    }

    /// A call by the System V convention. The result is a float or fits a scalar register.
    pub(super) fn call(&mut self, callee: VReg, args: &[VReg], float: bool) -> VReg {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[Operand::reg_use(callee)]);
        let (mut scalars, mut floats) = (ARGUMENTS.into_iter(), 0);
        for &arg in args {
            let place = if arg.class() == GPR {
                scalars.next().unwrap_or_else(|| unreachable!("broken invariant: a call with too many arguments"))
            } else {
                floats += 1;
                PReg::new(floats - 1, ZMM)
            };
            operands.push(Operand::reg_fixed_use(arg, place));
        }
        let (result, place) = if float { (self.fresh(ZMM), PReg::new(0, ZMM)) } else { (self.fresh(GPR), RAX) };
        operands.push(Operand::reg_fixed_def(result, place));
        let mut clobbers = clobbered_by_calls();
        clobbers.remove(place);
        self.push_clobbering(InstKind::Call, operands, clobbers);
        result
    }
}
