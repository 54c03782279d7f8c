//! The calling convention of outlined cold functions. The caller puts the arguments into a stack slot, and the slot's address is
//! the only parameter; the results are written to the same slot. The call preserves all registers, so results cannot be returned
//! in registers.

use clift_kir::{Block, Value};
use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::{self, BlockArg, ExternalName, InstBuilder, UserExternalName, types};
use cranelift_codegen::isa::CallConv;

use super::outline::VALUE_BYTES;
use crate::codegen::cranelift::translate::{Translator, clif_type};

/// The kind of a function that is being translated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FunctionRole {
    /// The entry of a kernel.
    Entry {
        /// The slot for exchanging values with outlined functions.
        exchange: Option<ir::StackSlot>,
    },
    /// An outlined cold function.
    Outlined {
        /// The address for its results.
        place: Option<ir::Value>,
    },
}

/// The temporary name by which a function calls its n-th outlined function, until that has an id in the program.
fn outlined_name(number: u32) -> UserExternalName {
    UserExternalName::new(u32::MAX, number)
}

/// Binds a function's calls of its n-th outlined function to a function of the program.
pub(crate) fn bind_outlined(func: &mut ir::Function, number: u32, function: u32) {
    let names = func.params.user_named_funcs();
    if let Some(reference) =
        names.iter().find(|(_, name)| **name == outlined_name(number)).map(|(reference, _)| reference)
    {
        // Functions are in namespace 0.
        func.params.reset_user_func_name(reference, UserExternalName::new(0, function));
    }
}

/// The signature of all outlined functions.
pub(crate) fn outlined_signature() -> ir::Signature {
    let mut signature = ir::Signature::new(CallConv::PreserveAll);
    signature.params.push(ir::AbiParam::new(types::I64));
    signature
}

/// The offset of the n-th value in the slot.
fn offset(number: usize) -> i32 {
    number as i32 * VALUE_BYTES as i32
}

impl Translator<'_> {
    /// In an outlined function: loads the inputs.
    pub(crate) fn read_outlined_inputs(&mut self, entry: ir::Block, params: &[Value]) {
        let place = self.pos.func.dfg.append_block_param(entry, types::I64);
        self.pos.goto_bottom(entry);
        for (number, &param) in params.iter().enumerate() {
            let ty = clif_type(self.legal.dfg.ty(param));
            let value = self.pos.ins().load(ty, ir::MemFlagsData::trusted(), place, offset(number));
            self.set_param(param, value);
        }
        // The results follow the inputs.
        let results = self.pos.ins().iadd_imm_s(place, i64::from(offset(params.len())));
        self.role = FunctionRole::Outlined { place: Some(results) };
    }

    /// Returns values. An outlined function stores them to the slot.
    pub(crate) fn return_values(&mut self, values: &[ir::Value]) {
        let FunctionRole::Outlined { place } = self.role else {
            self.pos.ins().return_(values);
            return;
        };
        let Some(place) = place else {
            unreachable!("broken invariant: outlined function without a place for results")
        };
        for (number, &value) in values.iter().enumerate() {
            let value = self.mask_for_block(value, self.legal.returns[number]);
            self.pos.ins().store(ir::MemFlagsData::trusted(), value, place, offset(number));
        }
        self.pos.ins().return_(&[]);
    }

    /// Translates a block that has been outlined: to the call if it is the head of its region, else to nothing.
    pub(crate) fn call_outlined(&mut self, block: Block, new: ir::Block) {
        let Some(outlined) = self.outline.at(block) else {
            self.pos.func.layout.remove_block(new);
            return;
        };
        let (number, inputs, next) = (outlined.number, outlined.inputs.clone(), outlined.next);
        let results: Vec<ir::Type> = outlined.func.returns.iter().map(|&ty| clif_type(ty)).collect();
        self.pos.func.layout.set_cold(new);
        let slot = self.exchange();
        for (number, &input) in inputs.iter().enumerate() {
            let value = self.get(input);
            let value = self.mask_for_block(value, self.legal.dfg.ty(input));
            self.pos.ins().stack_store(types::I64, value, slot, offset(number));
        }
        let callee = self.import_outlined(number);
        let place = self.pos.ins().stack_addr(types::I64, slot, 0);
        self.pos.ins().call(callee, &[place]);
        let mut args = Vec::new();
        for (number, &ty) in results.iter().enumerate() {
            let value = self.pos.ins().stack_load(types::I64, ty, slot, offset(inputs.len() + number));
            args.push(BlockArg::from(value));
        }
        let next = self.block(next);
        self.pos.ins().jump(next, &args);
    }

    /// The slot for exchanging values with outlined functions.
    fn exchange(&mut self) -> ir::StackSlot {
        let FunctionRole::Entry { exchange } = self.role else {
            unreachable!("broken invariant: outlined functions are not nested")
        };
        exchange.unwrap_or_else(|| {
            let size = self.outline.max_values() as u32 * VALUE_BYTES;
            let data =
                ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, size, VALUE_BYTES.trailing_zeros() as u8);
            let slot = self.pos.func.create_sized_stack_slot(data);
            self.role = FunctionRole::Entry { exchange: Some(slot) };
            slot
        })
    }

    /// Declares the n-th outlined function for a call. It may be far from the caller.
    fn import_outlined(&mut self, number: u32) -> ir::FuncRef {
        let name = self.pos.func.declare_imported_user_function(outlined_name(number));
        let signature = outlined_signature();
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
