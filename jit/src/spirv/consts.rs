//! Constants: what each constant instruction is, specialization applied, and their bytes in initializers.
//!
//! Vectors and scalars are kir constants; composites refer to their parts by id; addresses of variables stay symbolic until
//! they are used in a function or stored in an initializer. What an `OpSpecConstantOp` makes of an address that is not known yet
//! (the remainder of a division, a comparison, half of the bits) is computed by instructions where it is used.

use clift_include::image::{Addressing, Sampler};
use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Global, GlobalInit, Space, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{Op, SamplerAddressingMode, SamplerFilterMode};
use rustc_hash::{FxHashMap, FxHashSet};

use super::module::Module;
use super::types::{TypeKind, Types};
use super::words::{Fault, Inst};

/// Largest initializer in bytes, and most bytes that all of a module's take.
pub(crate) const MAX_INIT_BYTES: u64 = 16 << 20;

/// Most operations on addresses that a constant may take: they are repeated in each block that uses it.
const MAX_COMPUTED: usize = 256;
/// Most parts of a constant in memory that instructions store.
const MAX_STORED: usize = 1 << 14;

/// A constant's value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar, vector or pointer with known bits.
    Lanes(ConstData),
    /// Any value.
    Undef,
    /// Zero in all parts.
    Null,
    /// Parts by id; one per member or element.
    Composite(Vec<u32>),
    /// Leaves, none of them composite.
    Flat(Vec<Value>),
    /// The address of a variable plus an offset, as a pointer or integer of the stated type.
    Address {
        /// The variable.
        global: Global,
        /// Where the variable lives.
        space: Space,
        /// Bytes added.
        offset: i64,
        /// Type of the constant.
        ty: Type,
    },
    /// What the `OpSpecConstantOp` that defines it computes from addresses, each time the kernel runs.
    Computed,
}

impl Value {
    /// Whether only instructions can say what it is: no initializer holds it.
    fn needs_code(&self) -> bool {
        match self {
            Value::Computed => true,
            Value::Address { space, .. } => *space == Space::Local,
            Value::Flat(leaves) => leaves.iter().any(Value::needs_code),
            Value::Lanes(_) | Value::Undef | Value::Null | Value::Composite(_) => false,
        }
    }
}

/// A constant.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// Its type's id.
    pub(crate) ty: u32,
    /// Its value.
    pub(crate) value: Value,
}

/// The constants of a module by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consts {
    by_id: FxHashMap<u32, Constant>,
}

/// Values given to specialization constants: bytes by `SpecId`.
pub(crate) type SpecValues<'a> = &'a [(u32, Vec<u8>)];

impl Consts {
    /// The constant of an id, if it is one.
    pub(crate) fn get(&self, id: u32) -> Option<&Constant> {
        self.by_id.get(&id)
    }

    /// Enters a constant.
    pub(crate) fn insert(&mut self, id: u32, constant: Constant) {
        self.by_id.insert(id, constant);
    }

    /// The integer that a constant of one lane is, zero-extended.
    pub(crate) fn integer(&self, id: u32) -> Result<u64, Fault> {
        match self.get(id) {
            Some(Constant { value: Value::Lanes(data), .. }) if data.ty.is_int() && !data.ty.is_vector() => {
                Ok(data.lane(0))
            }
            Some(Constant { value: Value::Computed | Value::Address { .. }, .. }) => {
                Err(Fault::unsupported(format!("%{id} must be known at compile time but depends on an address")))
            }
            Some(_) => Err(Fault::malformed(format!("%{id} is not an integer constant"))),
            None => Err(Fault::malformed(format!("%{id} is not a constant that is defined earlier"))),
        }
    }

    /// The integer that a constant of one lane is, sign-extended.
    pub(crate) fn signed_integer(&self, id: u32) -> Result<i64, Fault> {
        let bits = self.integer(id)?;
        match self.get(id) {
            Some(Constant { value: Value::Lanes(data), .. }) => Ok(clift_kir::eval::int::signed(data.ty.elem, bits)),
            Some(_) | None => Ok(bits as i64),
        }
    }

    /// Takes a constant instruction that is no `OpSpecConstantOp`.
    pub(crate) fn define(
        &mut self,
        inst: &Inst,
        types: &Types,
        spec_id: Option<u32>,
        spec_values: SpecValues<'_>,
    ) -> Result<(), Fault> {
        let (id, ty) = (inst.result()?, inst.result_type()?);
        let given =
            spec_id.and_then(|spec| spec_values.iter().find(|(id, _)| *id == spec)).map(|(_, bytes)| &bytes[..]);
        let value = match inst.op() {
            Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                if types.value(ty)? != Type::B1 {
                    return Err(Fault::malformed("the result type is not Boolean"));
                }
                let default = matches!(inst.op(), Op::ConstantTrue | Op::SpecConstantTrue);
                let truth = match given {
                    Some(bytes) => bytes.iter().any(|&byte| byte != 0),
                    None => default,
                };
                Value::Lanes(ConstData::splat(Type::B1, truth.into()))
            }
            Op::Constant | Op::SpecConstant => {
                let scalar = types.value(ty)?;
                if scalar.is_vector() || !(scalar.is_int() || scalar.is_float()) {
                    return Err(Fault::malformed("the result type is neither an integer nor a float"));
                }
                let bits = match (scalar.elem.bits(), inst.operand(0)?) {
                    (64, &Operand::LiteralBit64(bits)) => bits,
                    (8 | 16 | 32, &Operand::LiteralBit32(bits)) => bits.into(),
                    _ => return Err(Fault::malformed("the literal does not have the width of the result type")),
                };
                let bits = match given {
                    Some(bytes) => bytes.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
                    None => bits,
                };
                Value::Lanes(ConstData::splat(scalar, bits))
            }
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(ty, &inst.ids_from(0)?, types)?,
            Op::ConstantNull => {
                let info = types.get(ty)?;
                match info.value {
                    Some(value) => Value::Lanes(ConstData::splat(value, 0)),
                    None if info.is_sized() => Value::Null,
                    None => return Err(Fault::malformed("the result type has no null value")),
                }
            }
            Op::Undef => {
                if !types.get(ty)?.is_sized() {
                    return Err(Fault::malformed("the result type has no values"));
                }
                Value::Undef
            }
            Op::ConstantSampler => {
                if types.get(ty)?.kind != TypeKind::Sampler {
                    return Err(Fault::malformed("the result type is not a sampler"));
                }
                Value::Lanes(ConstData::splat(Type::I64, sampler(inst)?.0))
            }
            Op::ConstantPipeStorage => return Err(Fault::unsupported("pipes")),
            _ => return Err(Fault::unsupported("this kind of constant")),
        };
        self.insert(id, Constant { ty, value });
        Ok(())
    }

    fn composite(&self, ty: u32, parts: &[u32], types: &Types) -> Result<Value, Fault> {
        let info = types.get(ty)?;
        let count = match &info.kind {
            TypeKind::Vector { lanes, .. } => u64::from(*lanes),
            TypeKind::Array { len, .. } => *len,
            TypeKind::Struct { members, .. } => members.len() as u64,
            _ => return Err(Fault::malformed("the result type is not a composite")),
        };
        if parts.len() as u64 != count {
            return Err(Fault::malformed(format!("{} constituents for a composite of {count} parts", parts.len())));
        }
        for (index, &part) in parts.iter().enumerate() {
            let wanted = types.step(ty, index as u64)?.ty;
            let found =
                self.get(part).ok_or_else(|| Fault::malformed(format!("%{part} is not a constant that is defined earlier")))?;
            if !types.same_layout(found.ty, wanted)? {
                let (found, wanted) = (types.name(found.ty), types.name(wanted));
                return Err(Fault::malformed(format!("constituent {index} (%{part}) has type {found}, not {wanted}")));
            }
        }
        let Some(vector) = info.value else { return Ok(self.aggregate(parts)) };
        let mut lanes = Vec::with_capacity(parts.len());
        for part in parts {
            match self.get(*part).map(|constant| &constant.value) {
                Some(Value::Lanes(data)) => lanes.push(data.lane(0)),
                Some(Value::Undef | Value::Null) => lanes.push(0),
                Some(Value::Address { .. } | Value::Computed) => return Ok(Value::Composite(parts.to_vec())),
                Some(Value::Composite(_) | Value::Flat(_)) | None => {
                    return Err(Fault::malformed(format!("%{part} is not a scalar")));
                }
            }
        }
        Ok(Value::Lanes(ConstData::new(vector, &lanes)))
    }

    /// A struct or array of parts. What has no values or only zeros is that as a whole, so that nobody looks into it: parts may
    /// be shared, and their number grow with a power of the number of instructions.
    fn aggregate(&self, parts: &[u32]) -> Value {
        let value = |part: &u32| self.get(*part).map(|constant| &constant.value);
        let is_undefined = |part: &u32| matches!(value(part), Some(Value::Undef));
        let is_zero = |part: &u32| match value(part) {
            Some(Value::Undef | Value::Null) => true,
            Some(Value::Lanes(data)) => (0..data.ty.lanes()).all(|lane| data.lane(lane) == 0),
            Some(Value::Composite(_) | Value::Flat(_) | Value::Address { .. } | Value::Computed) | None => false,
        };
        if !parts.is_empty() && parts.iter().all(is_undefined) {
            Value::Undef
        } else if parts.iter().all(is_zero) {
            Value::Null
        } else {
            Value::Composite(parts.to_vec())
        }
    }

    /// Stores a constant into the initializer of a variable.
    pub(crate) fn initialize(&self, id: u32, types: &Types) -> Result<GlobalInit, Fault> {
        let (init, computed) = self.store(id, types)?;
        let Some(&(part, _)) = computed.first() else { return Ok(init) };
        Err(match self.get(part).map(|constant| &constant.value) {
            Some(Value::Computed) => {
                Fault::unsupported(format!("an initializer that is computed from an address (%{part})"))
            }
            Some(_) | None => {
                Fault::unsupported(format!("the address of a local variable in an initializer (%{part})"))
            }
        })
    }

    /// Whether no part of a constant has a value.
    pub(crate) fn is_undefined(&self, id: u32) -> bool {
        matches!(self.get(id), Some(Constant { value: Value::Undef, .. }))
    }

    /// The bytes of a constant; and the parts that instructions must store, with their offsets.
    pub(crate) fn store(&self, id: u32, types: &Types) -> Result<(GlobalInit, Vec<(u32, u64)>), Fault> {
        let mut image = Image::default();
        self.store_at(id, types, 0, &mut image)?;
        Ok((image.init, image.computed))
    }

    fn store_at(&self, id: u32, types: &Types, offset: u64, image: &mut Image) -> Result<(), Fault> {
        let Some(constant) = self.get(id) else {
            return Err(Fault::malformed(format!("%{id} is not a constant that is defined earlier")));
        };
        let info = types.get(constant.ty)?;
        match &constant.value {
            value if value.needs_code() => image.compute(id, offset)?,
            Value::Composite(_) if info.size == 0 => {}
            Value::Composite(_) if info.size > MAX_INIT_BYTES => return Err(too_large()),
            Value::Composite(parts) => {
                if let Some(&place) = image.placed.get(&id) {
                    return image.repeat(place, info.size, offset);
                }
                for (index, &part) in parts.iter().enumerate() {
                    let step = types.step(constant.ty, index as u64)?;
                    self.store_at(part, types, offset + step.offset, image)?;
                }
                image.placed.insert(id, offset);
            }
            Value::Flat(leaves) => {
                for (value, leaf) in leaves.iter().zip(&info.leaves) {
                    store_plain(value, offset + leaf.offset, &mut image.init)?;
                }
            }
            value => store_plain(value, offset, &mut image.init)?,
        }
        Ok(())
    }

    /// The constants that instructions must compute before one can be used, itself included, each behind those it depends on.
    pub(crate) fn computed(&self, id: u32, module: &Module) -> Result<Vec<u32>, Fault> {
        let (mut found, mut seen, mut open) = (Vec::new(), FxHashSet::default(), vec![id]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id).map(|constant| &constant.value) {
                Some(Value::Computed) => {
                    let Some(inst) = module.def(id) else {
                        unreachable!("broken invariant: a constant has a definition")
                    };
                    found.push((inst.word, id));
                    open.extend(inst.dr.operands.iter().filter_map(Operand::id_ref_any));
                }
                Some(Value::Composite(parts)) => open.extend(parts),
                Some(Value::Lanes(_) | Value::Undef | Value::Null | Value::Flat(_) | Value::Address { .. }) | None => {}
            }
        }
        if found.len() > MAX_COMPUTED {
            let reason = format!("a constant that takes more than {MAX_COMPUTED} operations on addresses");
            return Err(Fault::unsupported(reason));
        }
        // A constant uses only what is defined before it.
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }
}

/// The bytes of a constant as they come together, in the order of their offsets.
#[derive(Default)]
struct Image {
    init: GlobalInit,
    /// Parts that instructions must store, with their offsets.
    computed: Vec<(u32, u64)>,
    /// Where composites lie: one that comes again is copied, since nests of constants may have many more parts than instructions.
    placed: FxHashMap<u32, u64>,
}

impl Image {
    /// Notes a part that an instruction must store.
    fn compute(&mut self, id: u32, offset: u64) -> Result<(), Fault> {
        if self.computed.len() == MAX_STORED {
            let reason = format!("a constant of more than {MAX_STORED} parts that depend on addresses of local memory");
            return Err(Fault::unsupported(reason));
        }
        self.computed.push((id, offset));
        Ok(())
    }

    /// Puts what lies at a place at a later offset as well.
    fn repeat(&mut self, place: u64, size: u64, offset: u64) -> Result<(), Fault> {
        let init = &mut self.init;
        let (start, end) = (place as usize, init.bytes.len().min((place + size) as usize));
        if start < end {
            reserve(init, offset + (end - start) as u64)?;
            init.bytes.copy_within(start..end, offset as usize);
        }
        let at = |list: &[(u64, Global, i64)], bound: u64| list.partition_point(|&(at, ..)| at < bound);
        for index in at(&init.addresses, place)..at(&init.addresses, place + size) {
            let (at, global, addend) = init.addresses[index];
            let to = at - place + offset;
            reserve(init, to + 8)?;
            init.addresses.push((to, global, addend));
        }
        let at = |list: &[(u32, u64)], bound: u64| list.partition_point(|&(_, at)| at < bound);
        for index in at(&self.computed, place)..at(&self.computed, place + size) {
            let (id, at) = self.computed[index];
            self.compute(id, at - place + offset)?;
        }
        Ok(())
    }
}

/// Stores a constant that is no composite.
fn store_plain(value: &Value, offset: u64, init: &mut GlobalInit) -> Result<(), Fault> {
    match value {
        Value::Undef | Value::Null => {}
        Value::Lanes(data) => {
            let bytes = u64::from(data.ty.elem.bytes());
            for lane in 0..data.ty.lanes() {
                store_bits(init, offset + u64::from(lane) * bytes, data.ty.elem, data.lane(lane))?;
            }
        }
        &Value::Address { global, offset: addend, .. } => {
            reserve(init, offset + 8)?;
            init.addresses.push((offset, global, addend));
        }
        Value::Composite(_) | Value::Flat(_) => unreachable!("broken invariant: composites are stored by their parts"),
        Value::Computed => unreachable!("broken invariant: instructions store what is computed"),
    }
    Ok(())
}

/// Makes the initializer at least `end` bytes long.
fn reserve(init: &mut GlobalInit, end: u64) -> Result<(), Fault> {
    if end > MAX_INIT_BYTES || init.addresses.len() as u64 > MAX_INIT_BYTES / 8 {
        return Err(too_large());
    }
    if init.bytes.len() < end as usize {
        init.bytes.resize(end as usize, 0);
    }
    Ok(())
}

/// Stores one element, little-endian.
fn store_bits(init: &mut GlobalInit, offset: u64, elem: Elem, bits: u64) -> Result<(), Fault> {
    let count = elem.bytes() as usize;
    if bits == 0 {
        return Ok(());
    }
    reserve(init, offset + count as u64)?;
    init.bytes[offset as usize..offset as usize + count].copy_from_slice(&bits.to_le_bytes()[..count]);
    Ok(())
}

/// The error for initializers beyond all reason.
pub(crate) fn too_large() -> Fault {
    Fault::unsupported(format!("initializers larger than {MAX_INIT_BYTES} bytes"))
}

/// What an `OpConstantSampler` says.
fn sampler(inst: &Inst) -> Result<Sampler, Fault> {
    let addressing = match *inst.operand(0)? {
        Operand::SamplerAddressingMode(mode) => match mode {
            SamplerAddressingMode::None => Addressing::None,
            SamplerAddressingMode::ClampToEdge => Addressing::ClampToEdge,
            SamplerAddressingMode::Clamp => Addressing::Clamp,
            SamplerAddressingMode::Repeat => Addressing::Repeat,
            SamplerAddressingMode::RepeatMirrored => Addressing::MirroredRepeat,
        },
        _ => return Err(Fault::malformed("the addressing mode is missing")),
    };
    let normalized = inst.literal(1)? != 0;
    let linear = match *inst.operand(2)? {
        Operand::SamplerFilterMode(mode) => match mode {
            SamplerFilterMode::Nearest => false,
            SamplerFilterMode::Linear => true,
        },
        _ => return Err(Fault::malformed("the filter mode is missing")),
    };
    Ok(Sampler::new(normalized, addressing, linear))
}
