//! The validation rules of OpenCL's SPIR-V environment: what valid SPIR-V must also be to be a module for OpenCL.
//!
//! The macro `rules!` below holds the list. Producers break some of the rules; where the meaning is clear, [`TOLERATED`] says
//! which of them may. Rules without which an instruction has no meaning (execution models, dimensions of images, recursion) are
//! checked where it is imported, and so are all rules of SPIR-V itself.

use clift_kir::{Elem, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Dim, ImageFormat, Op, Scope, StorageClass};
use rustc_hash::FxHashSet;

use super::llvm_backend;
use super::ops;
use super::ops::memory::TRANSLATOR;
use super::types::TypeKind;
use super::unit::Unit;
use super::words::{Inst, InstError};
use crate::ImportError;

/// Tool number of the assembler of SPIRV-Tools, which writes what any other tool has printed.
const ASSEMBLER: u32 = 7;

macro_rules! rules {
    ($($name:ident $text:literal $means:literal)*) => {
        /// A validation rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Rule {
            $(#[doc = $means] $name,)*
        }

        impl Rule {
            /// All rules.
            #[cfg(test)]
            pub(super) const ALL: &[Rule] = &[$(Rule::$name),*];

            /// Its name in messages.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Rule::$name => $text,)*
                }
            }

            /// What it demands.
            fn means(self) -> &'static str {
                match self {
                    $(Rule::$name => $means,)*
                }
            }
        }
    };
}

rules! {
    IntSignedness "int-signedness" "integer types have signedness 0"
    VectorLength "vector-length" "vectors have 2, 3, 4, 8 or 16 components"
    ImageSampledType "image-sampled-type" "the sampled type of an image is void"
    ImageSampled "image-sampled" "Sampled of an image type is 0"
    ImageFormat "image-format" "the format of an image type is Unknown"
    ImageAccess "image-access" "an image type has an access qualifier"
    ImageDepth "image-depth" "only images of two dimensions are depth images"
    ArgumentType "argument-type" "kernel parameters are no arrays"
    ArgumentPointer "argument-pointer" "pointers that are kernel parameters point to global, constant or local memory"
    ArgumentMember "argument-member" "structs that are kernel parameters consist of numbers, vectors, pointers and structs"
    ArgumentArray "argument-array" "structs that are kernel parameters have no arrays"
    BuiltInClass "built-in-class" "built-in variables have storage class Input"
    AtomicPointer "atomic-pointer" "the pointer of an atomic instruction points to private, local, global or generic memory"
    AtomicType "atomic-type" "the pointer of an atomic instruction points to the type of its value"
    AtomicFloat "atomic-float" "a compare-exchange compares integers"
    AtomicScope "atomic-scope" "the scope of an atomic instruction is not Invocation"
    Atomic64 "atomic-64" "atomic instructions on 64-bit integers need the capability Int64Atomics"
    AsyncScope "async-scope" "the execution scope of asynchronous copies and waits is the work-group"
    SubGroupScope "sub-group-scope" "the execution scope of non-uniform group instructions is the sub-group"
    RoundingMode "rounding-mode" "FPRoundingMode decorates conversions from or to floats"
}

/// Who may break a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Producers {
    /// All producers do.
    All,
    /// Those with these tool numbers.
    Tools(&'static [u32]),
}

/// The rules that producers break, and what they write. What has been assembled from text may come from any of them.
pub(super) const TOLERATED: &[(Rule, Producers, &str)] = &[
    (Rule::ArgumentPointer, Producers::All, "structs that are passed by value, as pointers to private memory"),
    (Rule::ArgumentArray, Producers::All, "arrays in such structs, which OpenCL C allows"),
    (Rule::AtomicScope, Producers::All, "memory_scope_work_item of OpenCL C's functions"),
    (
        Rule::VectorLength,
        Producers::Tools(&[llvm_backend::GENERATOR]),
        "1, 5, 6 or 7 components, made by LLVM's optimizer",
    ),
    (
        Rule::AtomicFloat,
        Producers::Tools(&[llvm_backend::GENERATOR, TRANSLATOR]),
        "atomic_compare_exchange of floats, which compares bits",
    ),
    (Rule::BuiltInClass, Producers::Tools(&[TRANSLATOR]), "UniformConstant, by the translators of LLVM 4 to 10"),
];

/// Refuses a module that breaks a rule, unless it is of a producer that is known to break this rule.
pub(super) fn check(unit: &Unit) -> Result<(), ImportError> {
    let module = &unit.module;
    let int64_atomics = module.insts.iter().any(|inst| {
        inst.op() == Op::Capability && matches!(inst.operand(0), Ok(Operand::Capability(Capability::Int64Atomics)))
    });
    let kernels: FxHashSet<u32> = module.entry_points.iter().map(|entry| entry.function).collect();
    let mut in_kernel = false;
    for inst in &module.insts {
        if inst.op() == Op::Function {
            in_kernel = inst.dr.result_id.is_some_and(|id| kernels.contains(&id));
        }
        // What cannot be read is reported when it is imported.
        let broken = Checker { unit, inst, int64_atomics, in_kernel }.broken().unwrap_or_default();
        let refused = broken.into_iter().find(|rule| !is_tolerated(*rule, module.generator));
        if let Some(rule) = refused {
            let reason = format!("rule {} of OpenCL's environment: {}", rule.name(), rule.means());
            return Err(InstError::malformed(reason).at(inst));
        }
    }
    Ok(())
}

fn is_tolerated(rule: Rule, generator: u32) -> bool {
    TOLERATED.iter().any(|(tolerated, producers, _)| {
        let breaks = match producers {
            Producers::All => true,
            Producers::Tools(tools) => generator == ASSEMBLER || tools.contains(&generator),
        };
        *tolerated == rule && breaks
    })
}

/// One instruction and what its rules depend on.
struct Checker<'a> {
    unit: &'a Unit,
    inst: &'a Inst,
    int64_atomics: bool,
    in_kernel: bool,
}

impl Checker<'_> {
    /// The rules that the instruction breaks.
    fn broken(&self) -> Result<Vec<Rule>, InstError> {
        let mut broken = Vec::new();
        let mut require = |holds: bool, rule: Rule| {
            if !holds {
                broken.push(rule);
            }
        };
        let inst = self.inst;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other instructions have no rule of their own")]
        match inst.op() {
            Op::TypeInt => require(inst.literal(1)? == 0, Rule::IntSignedness),
            Op::TypeVector => require(matches!(inst.literal(1)?, 2 | 3 | 4 | 8 | 16), Rule::VectorLength),
            Op::TypeImage => {
                let sampled = self.unit.types.get(inst.id(0)?)?;
                require(sampled.kind == TypeKind::Void, Rule::ImageSampledType);
                let flat = matches!(inst.operand(1)?, Operand::Dim(Dim::Dim2D));
                require(matches!((inst.literal(2)?, flat), (0, _) | (1, true)), Rule::ImageDepth);
                require(inst.literal(5)? == 0, Rule::ImageSampled);
                require(*inst.operand(6)? == Operand::ImageFormat(ImageFormat::Unknown), Rule::ImageFormat);
                require(matches!(inst.operand(7), Ok(Operand::AccessQualifier(_))), Rule::ImageAccess);
            }
            Op::FunctionParameter if self.in_kernel => {
                let ty = inst.result_type()?;
                match &self.unit.types.get(ty)?.kind {
                    TypeKind::Pointer { class, pointee } => {
                        let allowed =
                            [StorageClass::CrossWorkgroup, StorageClass::UniformConstant, StorageClass::Workgroup];
                        require(allowed.contains(class), Rule::ArgumentPointer);
                        if let (StorageClass::Function, &Some(pointee)) = (class, pointee)
                            && self.unit.types.get(pointee)?.is_sized()
                        {
                            let Members { array, opaque } = self.members(pointee)?;
                            require(!array, Rule::ArgumentArray);
                            require(!opaque, Rule::ArgumentMember);
                        }
                    }
                    TypeKind::Array { .. } => require(false, Rule::ArgumentType),
                    TypeKind::Struct { .. } => {
                        let Members { array, opaque } = self.members(ty)?;
                        require(!array, Rule::ArgumentArray);
                        require(!opaque, Rule::ArgumentMember);
                    }
                    TypeKind::Bool
                    | TypeKind::Int
                    | TypeKind::Float
                    | TypeKind::Vector { .. }
                    | TypeKind::Event
                    | TypeKind::Image { .. }
                    | TypeKind::Sampler
                    | TypeKind::Pipe { .. }
                    | TypeKind::Queue
                    | TypeKind::Handle => {}
                    // `reflect.rs` refuses what no kernel can have.
                    TypeKind::Void
                    | TypeKind::Function { .. }
                    | TypeKind::Opaque
                    | TypeKind::SampledImage { .. }
                    | TypeKind::PipeStorage
                    | TypeKind::ReserveId
                    | TypeKind::NamedBarrier => {}
                }
            }
            Op::Variable | Op::UntypedVariableKHR => {
                let built_in = self.unit.module.decorations.of(inst.result()?).built_in.is_some();
                let input = *inst.operand(0)? == Operand::StorageClass(StorageClass::Input);
                require(!built_in || input, Rule::BuiltInClass);
            }
            Op::GroupAsyncCopy | Op::UntypedGroupAsyncCopyKHR | Op::GroupWaitEvents => {
                require(self.scope(0)?.is_none_or(|scope| scope == Scope::Workgroup), Rule::AsyncScope);
            }
            _ if is_non_uniform(inst) => {
                require(self.scope(0)?.is_none_or(|scope| scope == Scope::Subgroup), Rule::SubGroupScope);
            }
            op if ops::is_atomic(op) => {
                for rule in self.atomic(op)? {
                    require(false, rule);
                }
            }
            _ => {}
        }
        if let Some(id) = inst.dr.result_id
            && self.unit.module.decorations.of(id).rounding.is_some()
        {
            require(converts_floats(inst.op()), Rule::RoundingMode);
        }
        Ok(broken)
    }

    /// The constant scope in an operand.
    fn scope(&self, operand: usize) -> Result<Option<Scope>, InstError> {
        let scope = self.unit.consts.integer(self.inst.id(operand)?).ok();
        Ok(scope.and_then(|scope| u32::try_from(scope).ok()).and_then(Scope::from_u32))
    }

    /// The type of a value.
    fn type_of(&self, id: u32) -> Result<u32, InstError> {
        let def = self.unit.module.def(id);
        def.ok_or_else(|| InstError::malformed(format!("%{id} has no definition")))?.result_type()
    }

    /// The rules of atomic instructions.
    fn atomic(&self, op: Op) -> Result<Vec<Rule>, InstError> {
        let (inst, types) = (self.inst, &self.unit.types);
        let mut broken = Vec::new();
        let (class, pointee) = types.any_pointer(self.type_of(inst.id(0)?)?)?;
        let classes =
            [StorageClass::Function, StorageClass::Workgroup, StorageClass::CrossWorkgroup, StorageClass::Generic];
        if !classes.contains(&class) {
            broken.push(Rule::AtomicPointer);
        }
        if self.scope(1)? == Some(Scope::Invocation) {
            broken.push(Rule::AtomicScope);
        }
        let value = if matches!(op, Op::AtomicFlagTestAndSet | Op::AtomicFlagClear) {
            Type::I32
        } else {
            let of = if op == Op::AtomicStore { self.type_of(inst.id(3)?)? } else { inst.result_type()? };
            types.value(of)?
        };
        if let Some(pointee) = pointee
            && types.value(pointee).ok() != Some(value)
        {
            broken.push(Rule::AtomicType);
        }
        if matches!(op, Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak) && value.is_float() {
            broken.push(Rule::AtomicFloat);
        }
        if value == Type::scalar(Elem::I64) && !self.int64_atomics {
            broken.push(Rule::Atomic64);
        }
        Ok(broken)
    }

    /// What a parameter's struct contains at any depth.
    fn members(&self, ty: u32) -> Result<Members, InstError> {
        let types = &self.unit.types;
        let (mut found, mut seen, mut pending) = (Members::default(), FxHashSet::default(), vec![ty]);
        while let Some(ty) = pending.pop() {
            if !seen.insert(ty) {
                continue;
            }
            match &types.get(ty)?.kind {
                TypeKind::Struct { members, .. } => pending.extend(members),
                TypeKind::Array { elem, .. } => {
                    found.array = true;
                    pending.push(*elem);
                }
                TypeKind::Int | TypeKind::Float | TypeKind::Vector { .. } | TypeKind::Pointer { .. } => {}
                TypeKind::Void
                | TypeKind::Bool
                | TypeKind::Function { .. }
                | TypeKind::Opaque
                | TypeKind::Event
                | TypeKind::Image { .. }
                | TypeKind::Sampler
                | TypeKind::SampledImage { .. }
                | TypeKind::Pipe { .. }
                | TypeKind::PipeStorage
                | TypeKind::ReserveId
                | TypeKind::Queue
                | TypeKind::Handle
                | TypeKind::NamedBarrier => found.opaque = true,
            }
        }
        Ok(found)
    }
}

/// What the structs of a parameter contain.
#[derive(Clone, Copy, Default)]
struct Members {
    /// An array.
    array: bool,
    /// Something that has no representation in the host's memory.
    opaque: bool,
}

/// Whether an instruction belongs to the non-uniform group instructions.
fn is_non_uniform(inst: &Inst) -> bool {
    inst.dr.class.capabilities.iter().any(|capability| {
        matches!(
            capability,
            Capability::GroupNonUniform
                | Capability::GroupNonUniformVote
                | Capability::GroupNonUniformArithmetic
                | Capability::GroupNonUniformBallot
                | Capability::GroupNonUniformShuffle
                | Capability::GroupNonUniformShuffleRelative
                | Capability::GroupNonUniformClustered
                | Capability::GroupNonUniformRotateKHR
        )
    })
}

/// Whether an instruction is a conversion that rounds.
fn converts_floats(op: Op) -> bool {
    matches!(op, Op::ConvertFToU | Op::ConvertFToS | Op::ConvertSToF | Op::ConvertUToF | Op::FConvert)
}
