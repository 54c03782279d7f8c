//! How a function hands values to a body and gets its results: through a place on the stack whose address is the body's only
//! parameter. The calling convention leaves all registers as they are, which is why nothing comes back in one.

use clift_kir::{Block, Value};
use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::{self, BlockArg, ExternalName, InstBuilder, UserExternalName, types};
use cranelift_codegen::isa::CallConv;

use super::outline::VALUE_BYTES;
use crate::codegen::cranelift::translate::{Translator, clif_type};

/// What a function is to others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The entry of a kernel.
    Entry {
        /// Where it exchanges values with bodies.
        exchange: Option<ir::StackSlot>,
    },
    /// A body.
    Body {
        /// Where its results go.
        place: Option<ir::Value>,
    },
}

/// The name by which a function calls its n-th body, until it is known which function of the program that is.
fn body_name(number: u32) -> UserExternalName {
    UserExternalName::new(u32::MAX, number)
}

/// Says which function of the program the n-th body of a function is.
pub(crate) fn name_body(func: &mut ir::Function, number: u32, function: u32) {
    let names = func.params.user_named_funcs();
    if let Some(reference) = names.iter().find(|(_, name)| **name == body_name(number)).map(|(reference, _)| reference)
    {
        // Functions are in namespace 0.
        func.params.reset_user_func_name(reference, UserExternalName::new(0, function));
    }
}

/// The signature of all bodies.
pub(crate) fn body_signature() -> ir::Signature {
    let mut signature = ir::Signature::new(CallConv::PreserveAll);
    signature.params.push(ir::AbiParam::new(types::I64));
    signature
}

/// Where the n-th value lies.
fn offset(number: usize) -> i32 {
    number as i32 * VALUE_BYTES as i32
}

impl Translator<'_> {
    /// In a body: reads what it is given.
    pub(crate) fn take_inputs(&mut self, entry: ir::Block, params: &[Value]) {
        let place = self.pos.func.dfg.append_block_param(entry, types::I64);
        self.pos.goto_bottom(entry);
        for (number, &param) in params.iter().enumerate() {
            let ty = clif_type(self.legal.dfg.ty(param));
            let value = self.pos.ins().load(ty, ir::MemFlagsData::trusted(), place, offset(number));
            self.set_param(param, value);
        }
        // Results follow.
        let results = self.pos.ins().iadd_imm_s(place, i64::from(offset(params.len())));
        self.role = Role::Body { place: Some(results) };
    }

    /// Returns values: a body leaves them at its place.
    pub(crate) fn leave(&mut self, values: &[ir::Value]) {
        let Role::Body { place } = self.role else {
            self.pos.ins().return_(values);
            return;
        };
        let Some(place) = place else { unreachable!("broken invariant: body without a place") };
        for (number, &value) in values.iter().enumerate() {
            let value = self.mask_for_block(value, self.legal.returns[number]);
            self.pos.ins().store(ir::MemFlagsData::trusted(), value, place, offset(number));
        }
        self.pos.ins().return_(&[]);
    }

    /// In place of a block that is in a body: the call, if the body begins with it.
    pub(crate) fn outlined(&mut self, block: Block, new: ir::Block) {
        let Some(outlined) = self.outline.at(block) else {
            self.pos.func.layout.remove_block(new);
            return;
        };
        let (number, inputs, next) = (outlined.number, outlined.inputs.clone(), outlined.next);
        let results: Vec<ir::Type> = outlined.body.returns.iter().map(|&ty| clif_type(ty)).collect();
        self.pos.func.layout.set_cold(new);
        let slot = self.exchange();
        for (number, &input) in inputs.iter().enumerate() {
            let value = self.get(input);
            let value = self.mask_for_block(value, self.legal.dfg.ty(input));
            self.pos.ins().stack_store(types::I64, value, slot, offset(number));
        }
        let body = self.import_body(number);
        let place = self.pos.ins().stack_addr(types::I64, slot, 0);
        self.pos.ins().call(body, &[place]);
        let mut args = Vec::new();
        for (number, &ty) in results.iter().enumerate() {
            let value = self.pos.ins().stack_load(types::I64, ty, slot, offset(inputs.len() + number));
            args.push(BlockArg::from(value));
        }
        let next = self.block(next);
        self.pos.ins().jump(next, &args);
    }

    /// Where values are exchanged with bodies.
    fn exchange(&mut self) -> ir::StackSlot {
        let Role::Entry { exchange } = self.role else { unreachable!("broken invariant: a body has no bodies") };
        exchange.unwrap_or_else(|| {
            let size = self.outline.most_values() as u32 * VALUE_BYTES;
            let data =
                ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, size, VALUE_BYTES.trailing_zeros() as u8);
            let slot = self.pos.func.create_sized_stack_slot(data);
            self.role = Role::Entry { exchange: Some(slot) };
            slot
        })
    }

    /// The n-th body, as something to call. It may lie anywhere.
    fn import_body(&mut self, number: u32) -> ir::FuncRef {
        let name = self.pos.func.declare_imported_user_function(body_name(number));
        let signature = body_signature();
        let signature = match self.signatures.get(&signature) {
            Some(&known) => known,
            None => {
                let known = self.pos.func.import_signature(signature.clone());
                self.signatures.insert(signature, known);
                known
            }
        };
        self.pos.func.import_function(ir::ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: false,
            patchable: false,
        })
    }
}
