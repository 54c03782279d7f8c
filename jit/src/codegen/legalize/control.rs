//! Control flow and calls: split values as arguments of blocks, and the values of `printf` and of requests in memory.

use clift_include::abi::PrintfArgKind;
use clift_kir::{BlockCall, Elem, Imm, Inst, MemInfo, Opcode, Type};

use super::{Legalizer, SplitValue, carrier};

impl Legalizer<'_> {
    fn block_call(&mut self, call: &BlockCall) -> BlockCall {
        let Some(block) = self.blocks[call.block].expand() else {
            unreachable!("broken invariant: branch to a block that is not reachable")
        };
        let params = self.old.dfg.params(call.block);
        let mut args = smallvec::SmallVec::new();
        for (&arg, &param) in call.args.iter().zip(params) {
            // Parameters have natural parts; a mask argument may have others.
            let chunk = self.caps.part_lanes(self.old.dfg.ty(param));
            let split = self.get(arg);
            args.extend(self.regroup(&split, chunk).parts);
        }
        BlockCall { block, args }
    }

    pub(super) fn terminator(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let mut imm = data.imm.clone();
        for call in imm.targets_mut() {
            *call = self.block_call(call);
        }
        let args: Vec<_> = data.args.iter().flat_map(|&arg| self.get(arg).parts).collect();
        self.at().inst(data.op, &args, imm, &[]);
    }

    /// `printf`: stores the values to the stack, with one descriptor each.
    pub(super) fn printf(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let format = args[0].only();
        let mut values = Vec::new();
        for value in &args[1..] {
            // Booleans are printed as integers.
            values.push(if value.ty.is_bool() { self.extend(value, Elem::I32, false) } else { value.clone() });
        }
        let (data, offsets) = self.store_on_stack(&values);
        let slot = self.stack(8 * values.len().max(1) as u64, 8);
        let descriptors = self.at().slot_addr(slot);
        for (i, (value, &offset)) in values.iter().zip(&offsets).enumerate() {
            let bits = descriptor_bits(value, offset as u32);
            let mut at = self.at();
            let bits = at.iconst(Type::I64, bits as i64);
            let address = at.addr(descriptors, None, 1, 8 * i as i64);
            at.store(address, bits, MemInfo::aligned(8));
        }
        let count = self.at().iconst(Type::I64, values.len() as i64);
        let result = self.emit(Opcode::Printf, &[format, descriptors, count, data], Imm::None, Type::I32);
        self.set(inst, SplitValue::scalar(Type::I32, result));
    }

    /// A request: stores the operands to the stack, each as a word.
    pub(super) fn request(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let number = args[0].only();
        let words: Vec<SplitValue> = args[1..]
            .iter()
            .map(|value| if value.ty == Type::I32 { self.extend(value, Elem::I64, false) } else { value.clone() })
            .collect();
        let (stored, _) = self.store_on_stack(&words);
        let count = self.at().iconst(Type::I64, words.len() as i64);
        let result = self.emit(Opcode::Request, &[number, stored, count], Imm::None, Type::I64);
        self.set(inst, SplitValue::scalar(Type::I64, result));
    }
}

/// The 8 bytes of a `PrintfArg`.
fn descriptor_bits(value: &SplitValue, offset: u32) -> u64 {
    let kind = match value.ty.elem {
        Elem::F16 | Elem::F32 | Elem::F64 => PrintfArgKind::Float,
        Elem::Ptr(_) => PrintfArgKind::Pointer,
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => PrintfArgKind::Int,
    };
    let mut bytes = [kind as u8, carrier(value.ty.elem).bytes() as u8, value.ty.lanes() as u8, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&offset.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}
