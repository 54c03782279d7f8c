//! Blocks. The value of a literal is an untyped generic pointer to what it captures; its function takes that pointer. Which
//! function a block calls must be known: SPIR-V has no pointers to functions.

use spirv::{Op, StorageClass};

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::tree::{AddressBase, BlockLiteral, Constant, Expr, ExprKind, FunctionId, LocalId, PlaceKind};
use crate::types::{QualTy, Scalar, TypeKind};

/// Members of the captures that every block has: size, alignment, function.
const HEADER: usize = 3;

/// What is known of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownBlock {
    /// Its function's number in the tree.
    pub function: FunctionId,
    /// Size of what it captures, in bytes.
    pub size: u64,
    /// The alignment of what it captures.
    pub align: u32,
}

impl FunctionEmitter<'_, '_> {
    /// The value of a block literal.
    pub(super) fn block_literal(&mut self, literal: &BlockLiteral) -> Id {
        let source = self.module.source;
        self.module.block_functions.insert(literal.function);
        let pointer = self.variable(literal.captures, 0);
        let align = self.natural_align(literal.captures);
        let memory = self.at_pointer(pointer, QualTy::plain(literal.captures), align);
        if let TypeKind::Record(id) = source.types.kind(literal.captures) {
            let record = source.types.record(*id);
            let header = [record.layout.size, record.layout.align.into()];
            for (index, (field, number)) in record.fields.iter().zip(header).enumerate() {
                let place = self.field(memory.clone(), index as u32, field.ty);
                let number = self.module.scalar(Scalar::Int, number & 0xffff_ffff);
                self.write_memory(&place, number);
            }
            for (index, (field, value)) in record.fields.iter().skip(HEADER).zip(&literal.values).enumerate() {
                let place = self.field(memory.clone(), (HEADER + index) as u32, field.ty);
                self.initialize(&place, value);
            }
        }
        let pointer = self.pointer(&memory);
        let captures = self.module.memory_type_id(literal.captures);
        let generic = self.module.pointer_type(StorageClass::Generic, captures);
        let pointer = self.op(Op::PtrCastToGeneric, generic, &[pointer]);
        let block = self.module.block_type();
        self.op(Op::Bitcast, block, &[pointer])
    }

    /// What is known of the block that an expression is.
    pub(crate) fn known_block(&self, expr: &Expr) -> Option<KnownBlock> {
        let source = self.module.source;
        if let ExprKind::Block(literal) = &expr.kind {
            let layout = source.types.layout(literal.captures).unwrap_or_default();
            return Some(KnownBlock { function: literal.function, size: layout.size, align: layout.align });
        }
        if let ExprKind::Constant(constant) = &expr.kind {
            return known_constant(constant);
        }
        if let ExprKind::Convert(_, operand) | ExprKind::Comma(_, operand) = &expr.kind {
            return self.known_block(operand);
        }
        let ExprKind::Load(place) = &expr.kind else { return None };
        if let PlaceKind::Local(local) = place.kind {
            return self.blocks.get(local.0 as usize).copied().flatten();
        }
        let PlaceKind::Global(global) = place.kind else { return None };
        known_constant(source.globals.get(global.0 as usize)?.init.as_ref()?)
    }

    /// Remembers the block that a variable is initialized with.
    pub(super) fn know_block(&mut self, local: LocalId, value: &Expr) {
        let index = local.0 as usize;
        if self.blocks.len() <= index {
            self.blocks.resize(self.function.locals.len().max(index + 1), None);
        }
        self.blocks[index] = self.known_block(value);
    }

    /// The function of a block as SPIR-V calls it.
    pub(crate) fn block_function(&mut self, block: KnownBlock) -> Id {
        self.module.block_functions.insert(block.function);
        self.module.function(block.function)
    }

    pub(super) fn block_call(&mut self, block: &Expr, arguments: &[Expr], expr: &Expr) -> Id {
        let captures = self.value(block);
        let mut values = vec![captures];
        for argument in arguments {
            values.push(self.value(argument));
        }
        self.at(expr.span);
        let Some(known) = self.known_block(block) else {
            self.module.fail(expr.span, "a call of a block that is not known at compile time");
            return 0;
        };
        let function = self.block_function(known);
        self.call_id(function, expr.ty, &values)
    }
}

fn known_constant(constant: &Constant) -> Option<KnownBlock> {
    let Constant::Address(address) = constant else { return None };
    match address.base {
        // The header only.
        AddressBase::Function(function) => Some(KnownBlock { function, size: 16, align: 8 }),
        AddressBase::Global(_) | AddressBase::Absolute => None,
    }
}
