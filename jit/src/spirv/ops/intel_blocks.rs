//! Reads and writes of blocks (`SPV_INTEL_subgroups`): each work-item of a sub-group accesses elements at the distance of the
//! sub-group's size, or in consecutive rows of an image.
//!
//! Pointers and coordinates are the same for the whole sub-group. They are taken from its first work-item, so that all lanes'
//! elements are one vector in memory.

use std::mem::offset_of;

use clift_include::image::{ImageDescriptor, ImageLevel};
use clift_kir::inst::{BlockCall, ImageDims};
use clift_kir::{Block, IntCond, MemInfo, Opcode, Space, Type, Value};

use super::classes::BlockInst;
use super::image::{number, shape};
use crate::spirv::lower::FuncCx;

use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: BlockInst) -> Result<(), InstError> {
    match op {
        BlockInst::SubgroupBlockReadINTEL => {
            let ty = block_type(cx.kir_type(inst.result_type()?)?)?;
            let elements = buffer_elements(cx, inst.id(0)?, ty)?;
            let elem = ty.with_lanes(1);
            let loaded: Vec<Value> =
                elements.iter().map(|&address| cx.b.load(elem, address, MemInfo::aligned(elem.bytes()))).collect();
            let value = cx.b.vec(&loaded);
            cx.set(inst, value)
        }
        BlockInst::SubgroupBlockWriteINTEL => {
            let data = cx.value(inst.id(1)?)?;
            let ty = block_type(cx.b.ty(data))?;
            let elements = buffer_elements(cx, inst.id(0)?, ty)?;
            for (i, &address) in elements.iter().enumerate() {
                let value = cx.b.extract(data, i as u32);
                cx.b.store(address, value, MemInfo::aligned(ty.with_lanes(1).bytes()));
            }
            Ok(())
        }
        BlockInst::SubgroupImageBlockReadINTEL => {
            let ty = block_type(cx.kir_type(inst.result_type()?)?)?;
            let rows = ImageRows::new(cx, inst, ty)?;
            let value = rows.read(cx);
            cx.set(inst, value)
        }
        BlockInst::SubgroupImageBlockWriteINTEL => {
            let data = cx.value(inst.id(2)?)?;
            let ty = block_type(cx.b.ty(data))?;
            let rows = ImageRows::new(cx, inst, ty)?;
            rows.write(cx, data);
            Ok(())
        }
    }
}

/// The type of what a work-item reads or writes.
fn block_type(ty: Type) -> Result<Type, InstError> {
    if ty.is_int() { Ok(ty) } else { Err(InstError::malformed("a block does not consist of integers")) }
}

/// The value of the first work-item of the sub-group.
fn of_first(cx: &mut FuncCx<'_>, value: Value) -> Value {
    let first = cx.b.iconst(Type::I32, 0);
    cx.b.group_shuffle(value, first)
}

/// The addresses of a work-item's elements.
fn buffer_elements(cx: &mut FuncCx<'_>, pointer: u32, ty: Type) -> Result<Vec<Value>, InstError> {
    let pointer = cx.pointer(pointer)?;
    let space = cx.b.ty(pointer);
    let bits = cx.b.cast(Opcode::PtrToInt, pointer, Type::I64);
    let bits = of_first(cx, bits);
    let start = cx.b.cast(Opcode::IntToPtr, bits, space);
    let (own, size) = lane_and_size(cx);
    let bytes = ty.with_lanes(1).bytes();
    let mut at = cx.b.addr(start, Some(own), bytes.into(), 0);
    let mut addresses = vec![at];
    for _ in 1..ty.lanes() {
        at = cx.b.addr(at, Some(size), bytes.into(), 0);
        addresses.push(at);
    }
    Ok(addresses)
}

/// The work-item's number in its sub-group and the sub-group's maximum size, in 64 bits.
fn lane_and_size(cx: &mut FuncCx<'_>) -> (Value, Value) {
    let [own, size] = [Opcode::SubGroupLocalId, Opcode::MaxSubGroupSize].map(|op| {
        let value = cx.b.query_linear(op);
        cx.b.cast(Opcode::Zext, value, Type::I64)
    });
    (own, size)
}

/// Consecutive rows of an image, of which each work-item of a sub-group accesses one element. All numbers have 64 bits, where
/// sums of coordinates do not overflow.
struct ImageRows {
    /// What a work-item accesses; a component for each row.
    ty: Type,
    /// The image's first byte.
    data: Value,
    pitch: Value,
    /// Bytes in a row, rows, and bytes of an element of the image.
    row_bytes: Value,
    height: Value,
    element_bytes: Value,
    /// The work-item's first byte in the row.
    x: Value,
    /// The first row.
    y: Value,
    /// Whether the whole block is inside the image.
    inside: Value,
}

impl ImageRows {
    fn new(cx: &mut FuncCx<'_>, inst: &Inst, ty: Type) -> Result<ImageRows, InstError> {
        let shape = shape(cx, inst.id(0)?)?;
        if shape.dims != ImageDims::Two || shape.arrayed {
            return Err(InstError::malformed("blocks are read from and written to 2-D images only"));
        }
        let image = cx.value(inst.id(0)?)?;
        let coordinates = cx.value(inst.id(1)?)?;
        if cx.b.ty(coordinates) != Type::I32.with_lanes(2) {
            return Err(InstError::malformed("the coordinates are not two integers of 32 bits"));
        }
        let [width, height, element_bytes] = [
            offset_of!(ImageDescriptor, levels) + offset_of!(ImageLevel, width),
            offset_of!(ImageDescriptor, levels) + offset_of!(ImageLevel, height),
            offset_of!(ImageDescriptor, element_bytes),
        ]
        .map(|offset| {
            let value = number(cx, image, offset);
            cx.b.cast(Opcode::Zext, value, Type::I64)
        });
        let invariant = MemInfo { align: 8, volatile: false, invariant: true, alias: 0 };
        let data = cx.b.addr(image, None, 1, offset_of!(ImageLevel, data) as i64);
        let data = cx.b.load(Type::ptr(Space::Global), data, invariant);
        let pitch = cx.b.addr(image, None, 1, offset_of!(ImageLevel, row_pitch) as i64);
        let pitch = cx.b.load(Type::I64, pitch, invariant);
        let row_bytes = cx.b.int2(Opcode::Imul, width, element_bytes);
        let [start, y] = [0, 1].map(|component| {
            let value = cx.b.extract(coordinates, component);
            let value = of_first(cx, value);
            cx.b.cast(Opcode::Sext, value, Type::I64)
        });
        let (own, size) = lane_and_size(cx);
        let bytes = cx.b.iconst(Type::I64, ty.with_lanes(1).bytes().into());
        let offset = cx.b.int2(Opcode::Imul, own, bytes);
        let x = cx.b.int2(Opcode::Iadd, start, offset);
        // Whether 0 <= start, start + bytes of a row of the block <= bytes of a row, and the same for y.
        let block_bytes = cx.b.int2(Opcode::Imul, size, bytes);
        let rows = cx.b.iconst(Type::I64, ty.lanes().into());
        let in_x = within(cx, start, block_bytes, row_bytes);
        let in_y = within(cx, y, rows, height);
        let inside = cx.b.int2(Opcode::And, in_x, in_y);
        Ok(ImageRows { ty, data, pitch, row_bytes, height, element_bytes, x, y, inside })
    }

    fn bytes(&self) -> i64 {
        self.ty.with_lanes(1).bytes().into()
    }

    /// The number of the row of a component.
    fn row(&self, cx: &mut FuncCx<'_>, component: u32) -> Value {
        let component = cx.b.iconst(Type::I64, component.into());
        cx.b.int2(Opcode::Iadd, self.y, component)
    }

    fn address(&self, cx: &mut FuncCx<'_>, x: Value, y: Value) -> Value {
        let offset = cx.b.int2(Opcode::Imul, y, self.pitch);
        let row = cx.b.addr(self.data, Some(offset), 1, 0);
        cx.b.addr(row, Some(x), 1, 0)
    }

    /// Makes a branch to two blocks, depending on a condition; the cursor is in the first.
    fn branch(cx: &mut FuncCx<'_>, condition: Value) -> Block {
        let [yes, no] = [(); 2].map(|()| cx.b.func.append_block());
        cx.b.branch(condition, BlockCall::new(yes, &[]), BlockCall::new(no, &[]));
        cx.b.switch_to(yes);
        no
    }

    /// Reads the elements. Outside the image, the nearest element of the image is read.
    fn read(&self, cx: &mut FuncCx<'_>) -> Value {
        let join = cx.b.func.append_block();
        let result = cx.b.func.dfg.append_param(join, self.ty);
        let outside = Self::branch(cx, self.inside);
        let value = self.load_all(cx, |cx, rows, component| {
            let y = rows.row(cx, component);
            rows.address(cx, rows.x, y)
        });
        cx.b.jump(join, &[value]);
        cx.b.switch_to(outside);
        let bytes = cx.b.iconst(Type::I64, self.bytes());
        let fits = cx.b.icmp(IntCond::Uge, self.row_bytes, bytes);
        let too_narrow = Self::branch(cx, fits);
        let x = self.nearest_x(cx);
        let value = self.load_all(cx, |cx, rows, component| {
            let y = rows.row(cx, component);
            let one = cx.b.iconst(Type::I64, 1);
            let last = cx.b.int2(Opcode::Isub, rows.height, one);
            let y = clamped(cx, y, last);
            rows.address(cx, x, y)
        });
        cx.b.jump(join, &[value]);
        cx.b.switch_to(too_narrow);
        let zero = cx.b.iconst(self.ty, 0);
        cx.b.jump(join, &[zero]);
        cx.b.switch_to(join);
        result
    }

    fn load_all(&self, cx: &mut FuncCx<'_>, address: impl Fn(&mut FuncCx<'_>, &Self, u32) -> Value) -> Value {
        let elem = self.ty.with_lanes(1);
        let components: Vec<Value> = (0..self.ty.lanes())
            .map(|component| {
                let address = address(cx, self, component);
                cx.b.load(elem, address, MemInfo::aligned(1))
            })
            .collect();
        cx.b.vec(&components)
    }

    /// The place in the row of the nearest element of the image: the same part of it, if the element is larger than what is read.
    fn nearest_x(&self, cx: &mut FuncCx<'_>) -> Value {
        let one = cx.b.iconst(Type::I64, 1);
        let low = cx.b.int2(Opcode::Isub, self.element_bytes, one);
        let part = cx.b.int2(Opcode::And, self.x, low);
        let element = cx.b.int2(Opcode::Isub, self.x, part);
        let last = cx.b.int2(Opcode::Isub, self.row_bytes, self.element_bytes);
        let element = clamped(cx, element, last);
        let x = cx.b.int2(Opcode::Iadd, element, part);
        let bytes = cx.b.iconst(Type::I64, self.bytes());
        let last = cx.b.int2(Opcode::Isub, self.row_bytes, bytes);
        cx.b.int2(Opcode::Umin, x, last)
    }

    /// Writes the elements. Those outside the image are dropped.
    fn write(&self, cx: &mut FuncCx<'_>, data: Value) {
        let join = cx.b.func.append_block();
        let outside = Self::branch(cx, self.inside);
        for component in 0..self.ty.lanes() {
            self.store(cx, data, component);
        }
        cx.b.jump(join, &[]);
        cx.b.switch_to(outside);
        for component in 0..self.ty.lanes() {
            let y = self.row(cx, component);
            let (bytes, one) = (cx.b.iconst(Type::I64, self.bytes()), cx.b.iconst(Type::I64, 1));
            let in_x = within(cx, self.x, bytes, self.row_bytes);
            let in_y = within(cx, y, one, self.height);
            let here = cx.b.int2(Opcode::And, in_x, in_y);
            let after = Self::branch(cx, here);
            self.store(cx, data, component);
            cx.b.jump(after, &[]);
            cx.b.switch_to(after);
        }
        cx.b.jump(join, &[]);
        cx.b.switch_to(join);
    }

    fn store(&self, cx: &mut FuncCx<'_>, data: Value, component: u32) {
        let y = self.row(cx, component);
        let address = self.address(cx, self.x, y);
        let value = cx.b.extract(data, component);
        cx.b.store(address, value, MemInfo::aligned(1));
    }
}

/// A number between 0 and `last`.
fn clamped(cx: &mut FuncCx<'_>, value: Value, last: Value) -> Value {
    let zero = cx.b.iconst(Type::I64, 0);
    let value = cx.b.int2(Opcode::Smax, value, zero);
    cx.b.int2(Opcode::Smin, value, last)
}

/// Whether `count` numbers from `start` on are in `0..size`.
fn within(cx: &mut FuncCx<'_>, start: Value, count: Value, size: Value) -> Value {
    let zero = cx.b.iconst(Type::I64, 0);
    let end = cx.b.int2(Opcode::Iadd, start, count);
    let low = cx.b.icmp(IntCond::Sge, start, zero);
    let high = cx.b.icmp(IntCond::Sle, end, size);
    cx.b.int2(Opcode::And, low, high)
}
