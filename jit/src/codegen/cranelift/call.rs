//! Calls: library functions lane by lane; `printf`, requests, the clock and checks through the runtime's callbacks; and the
//! functions that kernels call.

use std::mem::offset_of;

use clift_include::abi::{Callbacks, WgContext};
use clift_kir::ops::CallOp;
use clift_kir::{Imm, Inst};
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Translator, wrong_imm};
use crate::codegen::host::{self, trampoline};

impl Translator<'_> {
    pub(super) fn call_op(&mut self, op: CallOp, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let args = self.args(inst);
        match op {
            CallOp::LibCall => {
                let Imm::Lib(function) = data.imm else { wrong_imm(&data.imm) };
                let (trampoline, implementation) = trampoline(function.implementation(self.arg_type(inst, 0).elem));
                let implementation = self.pos.ins().iconst(types::I64, implementation as i64);
                let mut operands = vec![implementation];
                operands.extend(&args);
                let result = super::translate::clif_type(self.result_type(inst));
                let value = self.call_host(trampoline, &operands, Some(result));
                self.set(inst, value);
            }
            CallOp::Printf => {
                let function = self.callback(offset_of!(Callbacks, printf));
                let operands = [self.context(), args[0], args[1], args[2], args[3]];
                let value = self.call(function, &operands, Some(types::I32));
                self.set(inst, value);
            }
            CallOp::Request => {
                let function = self.callback(offset_of!(Callbacks, request));
                let operands = [self.context(), args[0], args[1], args[2]];
                let value = self.call(function, &operands, Some(types::I64));
                self.set(inst, value);
            }
            CallOp::Clock => {
                let function = self.callback(offset_of!(Callbacks, clock));
                let value = self.call(function, &[], Some(types::I64));
                self.set(inst, value);
            }
            CallOp::Check => {
                let function = self.callback(offset_of!(Callbacks, check));
                let operands = [self.context(), args[0], args[1], args[2], args[3]];
                let value = self.call(function, &operands, Some(types::I32));
                self.set(inst, value);
            }
            CallOp::Call => {
                let Imm::Func(callee) = data.imm else { wrong_imm(&data.imm) };
                let callee = self.pos.ins().iconst(types::I64, self.data.function(callee) as i64);
                let context = self.context();
                self.call(callee, &[context, args[0]], None);
            }
        }
    }

    /// Ends the launch with a fault, because its work-items wait for one another.
    pub(super) fn deadlock(&mut self) {
        let text = host::deadlock(&self.legal.name);
        self.fault(&text);
    }

    /// `a * b + c` where the target has no instruction for it.
    pub(super) fn fma_call(&mut self, a: ir::Value, b: ir::Value, c: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        let function =
            if ty == types::F32 { fma_single as *const () as usize } else { fma_double as *const () as usize };
        self.call_host(function, &[a, b, c], Some(ty))
    }

    /// Ends the launch with a message. The message is built on the stack, because this runs at most once.
    fn fault(&mut self, text: &str) {
        let size = text.len().next_multiple_of(8);
        let data = ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, size as u32, 3);
        let slot = self.pos.func.create_sized_stack_slot(data);
        for (i, chunk) in text.as_bytes().chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let value = self.pos.ins().iconst(types::I64, i64::from_le_bytes(bytes));
            self.pos.ins().stack_store(types::I64, value, slot, i as i32 * 8);
        }
        let function = self.callback(offset_of!(Callbacks, fault));
        let message = self.pos.ins().stack_addr(types::I64, slot, 0);
        let length = self.pos.ins().iconst(types::I64, text.len() as i64);
        self.call(function, &[self.context(), message, length], None);
    }

    /// The callback at an offset of [`Callbacks`].
    fn callback(&mut self, offset: usize) -> ir::Value {
        let callbacks = self.load_host(self.context(), offset_of!(WgContext, callbacks));
        self.load_host(callbacks, offset)
    }

    /// The launch context, which is the entry's first parameter.
    fn context(&self) -> ir::Value {
        let entry = self.pos.func.layout.entry_block();
        match entry.and_then(|entry| self.pos.func.dfg.block_params(entry).first()) {
            Some(&context) => context,
            None => unreachable!("broken invariant: function without a context"),
        }
    }

    fn load_host(&mut self, base: ir::Value, offset: usize) -> ir::Value {
        let flags = ir::MemFlagsData::trusted().with_readonly().with_can_move();
        self.pos.ins().load(types::I64, flags, base, offset as i32)
    }

    pub(super) fn call_host(&mut self, function: usize, args: &[ir::Value], result: Option<ir::Type>) -> ir::Value {
        let function = self.pos.ins().iconst(types::I64, function as i64);
        self.call(function, args, result)
    }

    /// A call through a pointer. Without a result type it returns the callee itself.
    fn call(&mut self, function: ir::Value, args: &[ir::Value], result: Option<ir::Type>) -> ir::Value {
        let mut signature = ir::Signature::new(self.call_conv);
        for &arg in args {
            signature.params.push(ir::AbiParam::new(self.ty(arg)));
        }
        signature.returns.extend(result.map(ir::AbiParam::new));
        let reference = match self.signatures.get(&signature) {
            Some(&reference) => reference,
            None => {
                let reference = self.pos.func.import_signature(signature.clone());
                self.signatures.insert(signature, reference);
                reference
            }
        };
        let call = self.pos.ins().call_indirect(reference, function, args);
        self.pos.func.dfg.inst_results(call).first().copied().unwrap_or(function)
    }
}

extern "C" fn fma_single(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

extern "C" fn fma_double(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}
