//! Constants: their values with specialization applied, and their bytes in initializers.
//!
//! Vectors and scalars are kir constants; composites refer to their parts by id; addresses of variables stay symbolic until
//! they are used in a function or stored in an initializer. An `OpSpecConstantOp` whose value depends on an address in another
//! way than by an offset (a remainder, a comparison, half of the bits) is computed by instructions where it is used.

use clift_include::image::{Addressing, Sampler};
use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Global, GlobalInit, Space, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{SamplerAddressingMode, SamplerFilterMode};
use rustc_hash::{FxHashMap, FxHashSet};

use super::families::ConstantInst;
use super::module::Module;
use super::types::{TypeKind, Types};
use super::words::{Inst, InstError};

/// Maximum size of an initializer in bytes, and of all initializers of a build together.
pub(crate) const MAX_INIT_BYTES: u64 = 16 << 20;

/// Maximum number of operations on addresses in a constant: they are repeated in each block that uses it.
const MAX_COMPUTED: usize = 256;
/// Maximum number of parts of a constant in memory that instructions store.
const MAX_STORED: usize = 1 << 14;

/// A constant's value.
#[derive(Clone, Debug)]
pub(crate) enum ConstValue {
    /// A scalar, vector or pointer with known bits.
    Lanes(ConstData),
    /// Undefined.
    Undef,
    /// Zero in all parts.
    Null,
    /// Ids of the parts, one per member or element.
    Composite(Vec<u32>),
    /// Leaves, none of them composite.
    Flat(Vec<ConstValue>),
    /// The address of a variable plus an offset, as a pointer or integer of the stated type.
    Address {
        /// The variable.
        global: Global,
        /// Address space of the variable.
        space: Space,
        /// Bytes added.
        offset: i64,
        /// Type of the constant.
        ty: Type,
    },
    /// Computed from addresses when the kernel runs, by the `OpSpecConstantOp` that defines it.
    Computed,
}

impl ConstValue {
    /// Whether it must be computed by instructions, so that no initializer can contain it.
    fn needs_code(&self) -> bool {
        match self {
            ConstValue::Computed => true,
            ConstValue::Address { space, .. } => *space == Space::Local,
            ConstValue::Flat(leaves) => leaves.iter().any(ConstValue::needs_code),
            ConstValue::Lanes(_) | ConstValue::Undef | ConstValue::Null | ConstValue::Composite(_) => false,
        }
    }
}

/// A constant.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// Its type's id.
    pub(crate) ty: u32,
    /// Its value.
    pub(crate) value: ConstValue,
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

    /// Adds a constant.
    pub(crate) fn insert(&mut self, id: u32, constant: Constant) {
        self.by_id.insert(id, constant);
    }

    /// The value of a scalar integer constant, zero-extended.
    pub(crate) fn integer(&self, id: u32) -> Result<u64, InstError> {
        match self.get(id) {
            Some(Constant { value: ConstValue::Lanes(data), .. }) if data.ty.is_int() && !data.ty.is_vector() => {
                Ok(data.lane(0))
            }
            Some(Constant { value: ConstValue::Computed | ConstValue::Address { .. }, .. }) => {
                Err(InstError::unsupported(format!("%{id} must be known at compile time but depends on an address")))
            }
            Some(_) => Err(InstError::malformed(format!("%{id} is not an integer constant"))),
            None => Err(InstError::malformed(format!("%{id} is not a constant that is defined earlier"))),
        }
    }

    /// The value of a scalar integer constant, sign-extended.
    pub(crate) fn signed_integer(&self, id: u32) -> Result<i64, InstError> {
        let bits = self.integer(id)?;
        match self.get(id) {
            Some(Constant { value: ConstValue::Lanes(data), .. }) => {
                Ok(clift_kir::eval::int::signed(data.ty.elem, bits))
            }
            Some(_) | None => Ok(bits as i64),
        }
    }

    /// Defines the constant of an instruction that is not an `OpSpecConstantOp`.
    pub(crate) fn define(
        &mut self,
        inst: &Inst,
        types: &Types,
        spec_id: Option<u32>,
        spec_values: SpecValues<'_>,
    ) -> Result<(), InstError> {
        let (id, ty) = (inst.result()?, inst.result_type()?);
        let given =
            spec_id.and_then(|spec| spec_values.iter().find(|(id, _)| *id == spec)).map(|(_, bytes)| &bytes[..]);
        let Some(op) = ConstantInst::of(inst.op()) else {
            return Err(InstError::unsupported("this kind of constant"));
        };
        let value = match op {
            ConstantInst::ConstantTrue
            | ConstantInst::ConstantFalse
            | ConstantInst::SpecConstantTrue
            | ConstantInst::SpecConstantFalse => {
                if types.value(ty)? != Type::B1 {
                    return Err(InstError::malformed("the result type is not Boolean"));
                }
                let default = matches!(op, ConstantInst::ConstantTrue | ConstantInst::SpecConstantTrue);
                let truth = match given {
                    Some(bytes) => bytes.iter().any(|&byte| byte != 0),
                    None => default,
                };
                ConstValue::Lanes(ConstData::splat(Type::B1, truth.into()))
            }
            ConstantInst::Constant | ConstantInst::SpecConstant => {
                let scalar = types.value(ty)?;
                if scalar.is_vector() || !(scalar.is_int() || scalar.is_float()) {
                    return Err(InstError::malformed("the result type is neither an integer nor a float"));
                }
                let bits = match (scalar.elem.bits(), inst.operand(0)?) {
                    (64, &Operand::LiteralBit64(bits)) => bits,
                    (8 | 16 | 32, &Operand::LiteralBit32(bits)) => bits.into(),
                    _ => return Err(InstError::malformed("the literal does not have the width of the result type")),
                };
                let bits = match given {
                    Some(bytes) => bytes.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
                    None => bits,
                };
                ConstValue::Lanes(ConstData::splat(scalar, bits))
            }
            ConstantInst::ConstantComposite | ConstantInst::SpecConstantComposite => {
                self.composite(ty, &inst.ids_from(0)?, types)?
            }
            ConstantInst::ConstantNull => {
                let info = types.get(ty)?;
                match info.value {
                    Some(value) => ConstValue::Lanes(ConstData::splat(value, 0)),
                    None if info.is_sized() => ConstValue::Null,
                    None => return Err(InstError::malformed("the result type has no null value")),
                }
            }
            ConstantInst::Undef => {
                if !types.get(ty)?.is_sized() {
                    return Err(InstError::malformed("the result type has no values"));
                }
                ConstValue::Undef
            }
            ConstantInst::ConstantSampler => {
                if types.get(ty)?.kind != TypeKind::Sampler {
                    return Err(InstError::malformed("the result type is not a sampler"));
                }
                ConstValue::Lanes(ConstData::splat(Type::I64, sampler(inst)?.0))
            }
        };
        self.insert(id, Constant { ty, value });
        Ok(())
    }

    fn composite(&self, ty: u32, parts: &[u32], types: &Types) -> Result<ConstValue, InstError> {
        let info = types.get(ty)?;
        let count = info.kind.parts().ok_or_else(|| InstError::malformed("the result type is not a composite"))?;
        if parts.len() as u64 != count {
            return Err(InstError::malformed(format!("{} constituents for a composite of {count} parts", parts.len())));
        }
        for (index, &part) in parts.iter().enumerate() {
            let wanted = types.step(ty, index as u64)?.ty;
            let found = self
                .get(part)
                .ok_or_else(|| InstError::malformed(format!("%{part} is not a constant that is defined earlier")))?;
            if !types.same_layout(found.ty, wanted)? {
                let (found, wanted) = (types.name(found.ty), types.name(wanted));
                return Err(InstError::malformed(format!(
                    "constituent {index} (%{part}) has type {found}, not {wanted}"
                )));
            }
        }
        let Some(vector) = info.value else { return Ok(self.aggregate(parts)) };
        let mut lanes = Vec::with_capacity(parts.len());
        for part in parts {
            match self.get(*part).map(|constant| &constant.value) {
                Some(ConstValue::Lanes(data)) => lanes.push(data.lane(0)),
                Some(ConstValue::Undef | ConstValue::Null) => lanes.push(0),
                Some(ConstValue::Address { .. } | ConstValue::Computed) => {
                    return Ok(ConstValue::Composite(parts.to_vec()));
                }
                Some(ConstValue::Composite(_) | ConstValue::Flat(_)) | None => {
                    return Err(InstError::malformed(format!("%{part} is not a scalar")));
                }
            }
        }
        Ok(ConstValue::Lanes(ConstData::new(vector, &lanes)))
    }

    /// A struct or array of parts. If all parts are undefined or zero, the whole is represented as such and never walked: parts
    /// may be shared, so their total number can grow exponentially with the number of instructions.
    fn aggregate(&self, parts: &[u32]) -> ConstValue {
        let value = |part: &u32| self.get(*part).map(|constant| &constant.value);
        let is_undefined = |part: &u32| matches!(value(part), Some(ConstValue::Undef));
        let is_zero = |part: &u32| match value(part) {
            Some(ConstValue::Undef | ConstValue::Null) => true,
            Some(ConstValue::Lanes(data)) => (0..data.ty.lanes()).all(|lane| data.lane(lane) == 0),
            Some(
                ConstValue::Composite(_) | ConstValue::Flat(_) | ConstValue::Address { .. } | ConstValue::Computed,
            )
            | None => false,
        };
        if !parts.is_empty() && parts.iter().all(is_undefined) {
            ConstValue::Undef
        } else if parts.iter().all(is_zero) {
            ConstValue::Null
        } else {
            ConstValue::Composite(parts.to_vec())
        }
    }

    /// Stores a constant into the initializer of a variable.
    pub(crate) fn initialize(&self, id: u32, types: &Types) -> Result<GlobalInit, InstError> {
        let (init, computed) = self.store(id, types)?;
        let Some(&(part, _)) = computed.first() else { return Ok(init) };
        Err(match self.get(part).map(|constant| &constant.value) {
            Some(ConstValue::Computed) => {
                InstError::unsupported(format!("an initializer that is computed from an address (%{part})"))
            }
            Some(_) | None => {
                InstError::unsupported(format!("the address of a local variable in an initializer (%{part})"))
            }
        })
    }

    /// Whether a constant is undefined in all parts.
    pub(crate) fn is_undefined(&self, id: u32) -> bool {
        matches!(self.get(id), Some(Constant { value: ConstValue::Undef, .. }))
    }

    /// The bytes of a constant, and the parts that instructions must store, with their offsets.
    pub(crate) fn store(&self, id: u32, types: &Types) -> Result<(GlobalInit, Vec<(u32, u64)>), InstError> {
        let mut builder = InitBuilder::default();
        self.store_at(id, types, 0, &mut builder)?;
        Ok((builder.init, builder.computed))
    }

    fn store_at(&self, id: u32, types: &Types, offset: u64, builder: &mut InitBuilder) -> Result<(), InstError> {
        let Some(constant) = self.get(id) else {
            return Err(InstError::malformed(format!("%{id} is not a constant that is defined earlier")));
        };
        let info = types.get(constant.ty)?;
        if constant.value.needs_code() {
            return builder.compute(id, offset);
        }
        match &constant.value {
            ConstValue::Composite(_) if info.size == 0 => {}
            ConstValue::Composite(_) if info.size > MAX_INIT_BYTES => return Err(too_large()),
            ConstValue::Composite(parts) => {
                if let Some(&place) = builder.placed.get(&id) {
                    return builder.repeat(place, info.size, offset);
                }
                for (index, &part) in parts.iter().enumerate() {
                    let step = types.step(constant.ty, index as u64)?;
                    self.store_at(part, types, offset + step.offset, builder)?;
                }
                builder.placed.insert(id, offset);
            }
            ConstValue::Flat(leaves) => {
                for (value, leaf) in leaves.iter().zip(&info.leaves) {
                    store_plain(value, offset + leaf.offset, &mut builder.init)?;
                }
            }
            value @ (ConstValue::Lanes(_)
            | ConstValue::Undef
            | ConstValue::Null
            | ConstValue::Address { .. }
            | ConstValue::Computed) => store_plain(value, offset, &mut builder.init)?,
        }
        Ok(())
    }

    /// The constants that instructions must compute before this one can be used, itself included, each after those it depends on.
    pub(crate) fn computed(&self, id: u32, module: &Module) -> Result<Vec<u32>, InstError> {
        let (mut found, mut seen, mut open) = (Vec::new(), FxHashSet::default(), vec![id]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id).map(|constant| &constant.value) {
                Some(ConstValue::Computed) => {
                    let Some(inst) = module.def(id) else {
                        unreachable!("broken invariant: a constant has a definition")
                    };
                    found.push((inst.word, id));
                    open.extend(inst.dr.operands.iter().filter_map(Operand::id_ref_any));
                }
                Some(ConstValue::Composite(parts)) => open.extend(parts),
                Some(
                    ConstValue::Lanes(_)
                    | ConstValue::Undef
                    | ConstValue::Null
                    | ConstValue::Flat(_)
                    | ConstValue::Address { .. },
                )
                | None => {}
            }
        }
        if found.len() > MAX_COMPUTED {
            let reason = format!("a constant that takes more than {MAX_COMPUTED} operations on addresses");
            return Err(InstError::unsupported(reason));
        }
        // A constant uses only what is defined before it.
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }
}

/// The bytes of a constant under construction. Parts are added in the order of their offsets.
#[derive(Default)]
struct InitBuilder {
    init: GlobalInit,
    /// Parts that instructions must store, with their offsets.
    computed: Vec<(u32, u64)>,
    /// Offsets of composites that are already placed. A repeated composite is copied, because nested constants may have many more
    /// parts than instructions.
    placed: FxHashMap<u32, u64>,
}

impl InitBuilder {
    /// Adds a part that an instruction must store.
    fn compute(&mut self, id: u32, offset: u64) -> Result<(), InstError> {
        if self.computed.len() == MAX_STORED {
            let reason = format!("a constant of more than {MAX_STORED} parts that depend on addresses of local memory");
            return Err(InstError::unsupported(reason));
        }
        self.computed.push((id, offset));
        Ok(())
    }

    /// Repeats the contents of a place at a later offset.
    fn repeat(&mut self, place: u64, size: u64, offset: u64) -> Result<(), InstError> {
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

/// Stores a constant that is not a composite.
fn store_plain(value: &ConstValue, offset: u64, init: &mut GlobalInit) -> Result<(), InstError> {
    match value {
        ConstValue::Undef | ConstValue::Null => {}
        ConstValue::Lanes(data) => {
            let bytes = u64::from(data.ty.elem.bytes());
            for lane in 0..data.ty.lanes() {
                store_bits(init, offset + u64::from(lane) * bytes, data.ty.elem, data.lane(lane))?;
            }
        }
        &ConstValue::Address { global, offset: addend, .. } => {
            reserve(init, offset + 8)?;
            init.addresses.push((offset, global, addend));
        }
        ConstValue::Composite(_) | ConstValue::Flat(_) => {
            unreachable!("broken invariant: composites are stored by their parts")
        }
        ConstValue::Computed => unreachable!("broken invariant: instructions store what is computed"),
    }
    Ok(())
}

/// Makes the initializer at least `end` bytes long.
fn reserve(init: &mut GlobalInit, end: u64) -> Result<(), InstError> {
    if end > MAX_INIT_BYTES || init.addresses.len() as u64 > MAX_INIT_BYTES / 8 {
        return Err(too_large());
    }
    if init.bytes.len() < end as usize {
        init.bytes.resize(end as usize, 0);
    }
    Ok(())
}

/// Stores one element, little-endian.
fn store_bits(init: &mut GlobalInit, offset: u64, elem: Elem, bits: u64) -> Result<(), InstError> {
    let count = elem.bytes() as usize;
    if bits == 0 {
        return Ok(());
    }
    reserve(init, offset + count as u64)?;
    init.bytes[offset as usize..offset as usize + count].copy_from_slice(&bits.to_le_bytes()[..count]);
    Ok(())
}

/// The error for initializers above the limit.
pub(crate) fn too_large() -> InstError {
    InstError::unsupported(format!("initializers larger than {MAX_INIT_BYTES} bytes"))
}

/// The sampler of an `OpConstantSampler`.
fn sampler(inst: &Inst) -> Result<Sampler, InstError> {
    let Operand::SamplerAddressingMode(addressing) = *inst.operand(0)? else {
        return Err(InstError::malformed("the addressing mode is missing"));
    };
    let addressing = match addressing {
        SamplerAddressingMode::None => Addressing::None,
        SamplerAddressingMode::ClampToEdge => Addressing::ClampToEdge,
        SamplerAddressingMode::Clamp => Addressing::Clamp,
        SamplerAddressingMode::Repeat => Addressing::Repeat,
        SamplerAddressingMode::RepeatMirrored => Addressing::MirroredRepeat,
    };
    let normalized = inst.literal(1)? != 0;
    let Operand::SamplerFilterMode(filter) = *inst.operand(2)? else {
        return Err(InstError::malformed("the filter mode is missing"));
    };
    let linear = match filter {
        SamplerFilterMode::Nearest => false,
        SamplerFilterMode::Linear => true,
    };
    Ok(Sampler::new(normalized, addressing, linear))
}
