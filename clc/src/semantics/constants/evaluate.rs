//! The walk over the typed tree.

use super::arithmetic;
use crate::semantics::Checker;
use crate::tree::{Address, AddressBase, BinaryOp, CompareOp, Constant, Conversion, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Ty, TypeKind};

impl Checker<'_, '_> {
    /// The value of a tree that is not deeper than `depth`.
    pub(super) fn evaluate_within(&self, expr: &Expr, depth: u32) -> Option<Constant> {
        let depth = depth.checked_sub(1)?;
        let get = |expr: &Expr| self.evaluate_within(expr, depth);
        match &expr.kind {
            ExprKind::Constant(constant) => Some(constant.clone()),
            ExprKind::Load(place) => self.read_place(place, depth),
            ExprKind::AddressOf(place) => Some(Constant::Address(self.constant_address(place, depth)?)),
            ExprKind::Unary(op, a) => self.evaluate_unary(*op, a.ty, &get(a)?),
            ExprKind::Binary(op, a, b) => {
                let left = get(a)?;
                self.evaluate_binary(*op, (a.ty, &left), (b.ty, &get(b)?))
            }
            ExprKind::Compare(op, a, b) => {
                let left = get(a)?;
                self.evaluate_compare(*op, a.ty, &left, &get(b)?)
            }
            ExprKind::LogicalAnd(a, b) => match get(a)?.scalar()? {
                0 => Some(Constant::Scalar(0)),
                _ => get(b),
            },
            ExprKind::LogicalOr(a, b) => match get(a)?.scalar()? {
                0 => get(b),
                _ => Some(Constant::Scalar(1)),
            },
            ExprKind::PointerAdd(pointer, count) => {
                let TypeKind::Pointer(to) = self.module.types.kind(pointer.ty) else { return None };
                let size = self.module.types.layout(to.ty).map_or(1, |layout| layout.size);
                let mut address = self.pointer_value(&get(pointer)?)?;
                let scalar = self.module.types.lanes(count.ty)?.0;
                let count = i64::try_from(arithmetic::integer(get(count)?.scalar()?, scalar)).ok()?;
                address.offset = address.offset.checked_add(count.checked_mul(i64::try_from(size).ok()?)?)?;
                Some(Constant::Address(address))
            }
            ExprKind::PointerDiff(a, b, size) => {
                let left = self.pointer_value(&get(a)?)?;
                let right = self.pointer_value(&get(b)?)?;
                if left.base != right.base || *size == 0 {
                    return None;
                }
                let bytes = left.offset.checked_sub(right.offset)?;
                let count = bytes.checked_div(i64::try_from(*size).ok()?)?;
                let scalar = self.module.types.lanes(expr.ty)?.0;
                Some(Constant::Scalar(arithmetic::wrap(i128::from(count), scalar)))
            }
            ExprKind::Conditional(condition, a, b) => match get(condition)?.scalar()? {
                0 => get(b),
                _ => get(a),
            },
            ExprKind::Select(condition, a, b) => {
                let (scalar, count) = self.module.types.lanes(condition.ty)?;
                let chosen = get(condition)?.lanes(count)?;
                let (a, b) = (get(a)?.lanes(count)?, get(b)?.lanes(count)?);
                let pick = |((chosen, a), b): ((u64, u64), u64)| {
                    if arithmetic::integer(chosen, signed(scalar)) < 0 { a } else { b }
                };
                Some(Constant::of_lanes(chosen.into_iter().zip(a).zip(b).map(pick).collect()))
            }
            ExprKind::Convert(conversion, from) => {
                let value = get(from)?;
                self.evaluate_conversion(*conversion, from.ty, expr.ty, value)
            }
            ExprKind::Vector(parts) => {
                let mut lanes = Vec::new();
                for part in parts {
                    let (_, count) = self.module.types.lanes(part.ty)?;
                    lanes.extend(get(part)?.lanes(count)?);
                }
                Some(Constant::of_lanes(lanes))
            }
            ExprKind::Swizzle(of, chosen) => {
                let (_, count) = self.module.types.lanes(of.ty)?;
                let lanes = get(of)?.lanes(count)?;
                let pick = |lane: &u8| lanes.get(usize::from(*lane)).copied();
                Some(Constant::of_lanes(chosen.iter().map(pick).collect::<Option<_>>()?))
            }
            ExprKind::Shuffle(a, b, chosen) => {
                let (_, count) = self.module.types.lanes(a.ty)?;
                let mut lanes = get(a)?.lanes(count)?;
                lanes.extend(get(b)?.lanes(self.module.types.lanes(b.ty)?.1)?);
                let pick = |lane: &Option<u8>| lane.map_or(Some(0), |lane| lanes.get(usize::from(lane)).copied());
                Some(Constant::of_lanes(chosen.iter().map(pick).collect::<Option<_>>()?))
            }
            ExprKind::Field(of, index) => self.member_of(of.ty, &get(of)?, *index),
            ExprKind::Aggregate(members) => self.evaluate_aggregate(expr.ty, members, depth),
            ExprKind::Comma(first, second) => {
                get(first)?;
                get(second)
            }
            // A block that captures nothing is its function.
            ExprKind::Block(literal) if literal.values.is_empty() => {
                Some(Constant::Address(Address { base: AddressBase::Function(literal.function), offset: 0 }))
            }
            ExprKind::Block(_) => None,
            ExprKind::Statements(list, Some(value)) if list.is_empty() => get(value),
            ExprKind::Statements(..)
            | ExprKind::Assign(..)
            | ExprKind::Init(..)
            | ExprKind::CompoundAssign { .. }
            | ExprKind::PointerAssign(..)
            | ExprKind::Increment { .. }
            | ExprKind::Call(..)
            | ExprKind::Builtin(..)
            | ExprKind::BlockCall(..) => None,
        }
    }

    /// Where a tree that is not constant ceases to be: the place for the error.
    pub(crate) fn first_not_constant(&self, expr: &Expr) -> crate::source::Span {
        let part = if let ExprKind::Aggregate(members) = &expr.kind {
            members.iter().map(|(_, member)| member).find(|member| self.evaluate(member).is_none())
        } else if let ExprKind::Convert(_, inner) = &expr.kind {
            Some(&**inner).filter(|inner| inner.span == expr.span)
        } else {
            None
        };
        part.map_or(expr.span, |part| self.first_not_constant(part))
    }

    fn evaluate_unary(&self, op: UnaryOp, ty: Ty, a: &Constant) -> Option<Constant> {
        let (scalar, count) = self.module.types.lanes(ty)?;
        let lanes = a.lanes(count)?;
        let all = |value: bool| if value { u64::MAX >> (64 - scalar.bytes() * 8) } else { 0 };
        let one = |bits: u64| match op {
            UnaryOp::LogicalNot if matches!(self.module.types.kind(ty), TypeKind::Vector(..)) => {
                Some(all(!arithmetic::truth(bits, scalar)))
            }
            UnaryOp::Negate | UnaryOp::Not | UnaryOp::LogicalNot => arithmetic::unary(op, scalar, bits),
        };
        Some(Constant::of_lanes(lanes.into_iter().map(one).collect::<Option<_>>()?))
    }

    fn evaluate_binary(&self, op: BinaryOp, a: (Ty, &Constant), b: (Ty, &Constant)) -> Option<Constant> {
        let (scalar, count) = self.module.types.lanes(a.0)?;
        let (right, right_count) = self.module.types.lanes(b.0)?;
        if count != right_count {
            return None;
        }
        let (x, y) = (a.1.lanes(count)?, b.1.lanes(count)?);
        let one = |(a, b): (u64, u64)| arithmetic::binary(op, scalar, a, b, right);
        Some(Constant::of_lanes(x.into_iter().zip(y).map(one).collect::<Option<_>>()?))
    }

    fn evaluate_compare(&self, op: CompareOp, ty: Ty, a: &Constant, b: &Constant) -> Option<Constant> {
        let Some((scalar, count)) = self.module.types.lanes(ty) else {
            return Some(Constant::Scalar(u64::from(self.compare_pointers_constant(op, a, b)?)));
        };
        let (a, b) = (a.lanes(count)?, b.lanes(count)?);
        let is_vector = matches!(self.module.types.kind(ty), TypeKind::Vector(..));
        let yes = if is_vector { u64::MAX >> (64 - scalar.bytes() * 8) } else { 1 };
        let one = |(a, b): (u64, u64)| if arithmetic::compare(op, scalar, a, b) { yes } else { 0 };
        Some(Constant::of_lanes(a.into_iter().zip(b).map(one).collect()))
    }

    fn compare_pointers_constant(&self, op: CompareOp, a: &Constant, b: &Constant) -> Option<bool> {
        let (a, b) = (self.pointer_value(a)?, self.pointer_value(b)?);
        if a.base == b.base {
            let order = a.offset.cmp(&b.offset);
            return Some(match op {
                CompareOp::Equal => order.is_eq(),
                CompareOp::NotEqual => order.is_ne(),
                CompareOp::Less => order.is_lt(),
                CompareOp::LessEqual => order.is_le(),
                CompareOp::Greater => order.is_gt(),
                CompareOp::GreaterEqual => order.is_ge(),
            });
        }
        // Different objects: they are not at the same place, and none is at null; more is not known.
        let is_null = |one: &Address| one.base == AddressBase::Absolute && one.offset == 0;
        let start = |one: &Address| one.base != AddressBase::Absolute && one.offset == 0;
        if !((is_null(&a) || start(&a)) && (is_null(&b) || start(&b))) {
            return None;
        }
        match op {
            CompareOp::Equal => Some(false),
            CompareOp::NotEqual => Some(true),
            CompareOp::Less | CompareOp::LessEqual | CompareOp::Greater | CompareOp::GreaterEqual => None,
        }
    }

    /// A constant as an address.
    pub(super) fn pointer_value(&self, constant: &Constant) -> Option<Address> {
        match constant {
            Constant::Address(address) => Some(address.clone()),
            Constant::Zero => Some(Address { base: AddressBase::Absolute, offset: 0 }),
            Constant::Scalar(bits) => Some(Address { base: AddressBase::Absolute, offset: *bits as i64 }),
            Constant::Undefined
            | Constant::Vector(_)
            | Constant::Bytes(_)
            | Constant::Aggregate(_)
            | Constant::Union(..) => None,
        }
    }

    fn evaluate_conversion(&self, conversion: Conversion, from: Ty, to: Ty, value: Constant) -> Option<Constant> {
        let types = &self.module.types;
        match conversion {
            Conversion::Arithmetic => {
                let (source, count) = types.lanes(from)?;
                let (target, target_count) = types.lanes(to)?;
                if count != target_count {
                    return None;
                }
                let one = |bits: u64| arithmetic::convert(bits, source, target);
                Some(Constant::of_lanes(value.lanes(count)?.into_iter().map(one).collect()))
            }
            Conversion::Splat => {
                let (_, count) = types.lanes(to)?;
                Some(Constant::of_lanes(vec![value.scalar()?; usize::from(count)]))
            }
            Conversion::Pointer | Conversion::AddressSpace => Some(value),
            Conversion::PointerToInteger => {
                let (scalar, 1) = types.lanes(to)? else { return None };
                let address = self.pointer_value(&value)?;
                (address.base == AddressBase::Absolute)
                    .then(|| Constant::Scalar(arithmetic::wrap(i128::from(address.offset), scalar)))
            }
            Conversion::IntegerToPointer => {
                let scalar = types.lanes(from)?.0;
                Some(match arithmetic::integer(value.scalar()?, scalar) {
                    0 => Constant::Zero,
                    other => Constant::Address(Address { base: AddressBase::Absolute, offset: other as i64 }),
                })
            }
            Conversion::PointerToBool => {
                let address = self.pointer_value(&value)?;
                let is_null = address.base == AddressBase::Absolute && address.offset == 0;
                Some(Constant::Scalar(u64::from(!is_null)))
            }
            Conversion::Bits => self.constant_bits(from, to, &value),
            Conversion::Discard => Some(Constant::Undefined),
            Conversion::Sampler => Some(value),
        }
    }

    /// `as_type`: the same bytes in another type.
    fn constant_bits(&self, from: Ty, to: Ty, value: &Constant) -> Option<Constant> {
        let (source, count) = self.module.types.lanes(from)?;
        let (target, target_count) = self.module.types.lanes(to)?;
        let mut bytes = Vec::new();
        for lane in value.lanes(count)? {
            bytes.extend_from_slice(lane.to_le_bytes().get(..source.bytes() as usize)?);
        }
        let width = target.bytes() as usize;
        let mut lanes = Vec::new();
        for index in 0..usize::from(target_count) {
            // The fourth lane of three is undefined; zero will do.
            let mut lane = [0_u8; 8];
            if let Some(part) = bytes.get(index * width..(index + 1) * width) {
                lane[..width].copy_from_slice(part);
            }
            lanes.push(u64::from_le_bytes(lane));
        }
        Some(Constant::of_lanes(lanes))
    }

    fn evaluate_aggregate(&self, ty: Ty, members: &[(u32, Expr)], depth: u32) -> Option<Constant> {
        if let TypeKind::Record(id) = self.module.types.kind(ty)
            && self.module.types.record(*id).is_union
        {
            let Some((index, value)) = members.first() else { return Some(Constant::Zero) };
            return Some(Constant::Union(*index, Box::new(self.evaluate_within(value, depth)?)));
        }
        let mut list: Vec<Constant> = Vec::with_capacity(members.len());
        for (index, value) in members {
            let index = *index as usize;
            if list.len() < index {
                list.resize(index, Constant::Zero);
            }
            let value = self.evaluate_within(value, depth)?;
            list.push(if value.is_zero() { Constant::Zero } else { value });
        }
        while list.last().is_some_and(|last| *last == Constant::Zero) {
            list.pop();
        }
        Some(if list.is_empty() { Constant::Zero } else { Constant::Aggregate(list) })
    }
}

/// The signed integer type of the same size.
fn signed(scalar: Scalar) -> Scalar {
    Scalar::integer(scalar.bytes(), true).unwrap_or(scalar)
}
