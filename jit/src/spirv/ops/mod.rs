//! Instructions, one file per class. [`lower`] only dispatches; `docs/add-a-spirv-op.md` is the recipe.

pub(super) mod arith;
pub(super) mod atomic;
pub(super) mod ballot;
pub(super) mod bits;
pub(super) mod built_in;
pub(super) mod collective;
pub(super) mod composite;
pub(super) mod control;
pub(super) mod convert;
mod enqueue;
pub(super) mod group;
pub(super) mod image;
mod intel_sub_group;
pub(super) mod logic;
pub(super) mod memory;
pub(super) mod misc;
mod named_barrier;
pub(super) mod pipe;

use rspirv::spirv::Op;

use super::lower::FuncCx;
use super::words::{Inst, InstError};

/// Imports one instruction of a function, or of an `OpSpecConstantOp`.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    match inst.op() {
        Op::SNegate
        | Op::FNegate
        | Op::IAdd
        | Op::FAdd
        | Op::ISub
        | Op::FSub
        | Op::IMul
        | Op::FMul
        | Op::UDiv
        | Op::SDiv
        | Op::FDiv
        | Op::UMod
        | Op::SRem
        | Op::SMod
        | Op::FRem
        | Op::FMod
        | Op::VectorTimesScalar
        | Op::Dot
        | Op::IAddCarry
        | Op::ISubBorrow
        | Op::UMulExtended
        | Op::SMulExtended
        | Op::FmaKHR
        | Op::SDot
        | Op::UDot
        | Op::SUDot
        | Op::SDotAccSat
        | Op::UDotAccSat
        | Op::SUDotAccSat => arith::lower(cx, inst),

        Op::ConvertFToU
        | Op::ConvertFToS
        | Op::ConvertSToF
        | Op::ConvertUToF
        | Op::UConvert
        | Op::SConvert
        | Op::FConvert
        | Op::ConvertPtrToU
        | Op::SatConvertSToU
        | Op::SatConvertUToS
        | Op::ConvertUToPtr
        | Op::PtrCastToGeneric
        | Op::GenericCastToPtr
        | Op::GenericCastToPtrExplicit
        | Op::Bitcast => convert::lower(cx, inst),

        Op::Any
        | Op::All
        | Op::IsNan
        | Op::IsInf
        | Op::IsFinite
        | Op::IsNormal
        | Op::SignBitSet
        | Op::LessOrGreater
        | Op::Ordered
        | Op::Unordered
        | Op::LogicalEqual
        | Op::LogicalNotEqual
        | Op::LogicalOr
        | Op::LogicalAnd
        | Op::LogicalNot
        | Op::Select
        | Op::IEqual
        | Op::INotEqual
        | Op::UGreaterThan
        | Op::SGreaterThan
        | Op::UGreaterThanEqual
        | Op::SGreaterThanEqual
        | Op::ULessThan
        | Op::SLessThan
        | Op::ULessThanEqual
        | Op::SLessThanEqual
        | Op::FOrdEqual
        | Op::FUnordEqual
        | Op::FOrdNotEqual
        | Op::FUnordNotEqual
        | Op::FOrdLessThan
        | Op::FUnordLessThan
        | Op::FOrdGreaterThan
        | Op::FUnordGreaterThan
        | Op::FOrdLessThanEqual
        | Op::FUnordLessThanEqual
        | Op::FOrdGreaterThanEqual
        | Op::FUnordGreaterThanEqual => logic::lower(cx, inst),

        Op::ShiftRightLogical
        | Op::ShiftRightArithmetic
        | Op::ShiftLeftLogical
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseAnd
        | Op::Not
        | Op::BitFieldInsert
        | Op::BitFieldSExtract
        | Op::BitFieldUExtract
        | Op::BitReverse
        | Op::BitCount => bits::lower(cx, inst),

        Op::VectorExtractDynamic
        | Op::VectorInsertDynamic
        | Op::VectorShuffle
        | Op::CompositeConstruct
        | Op::CompositeExtract
        | Op::CompositeInsert
        | Op::CopyObject
        | Op::CopyLogical
        | Op::Undef => composite::lower(cx, inst),

        Op::Variable
        | Op::Load
        | Op::Store
        | Op::CopyMemory
        | Op::CopyMemorySized
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::PtrAccessChain
        | Op::InBoundsPtrAccessChain
        | Op::UntypedVariableKHR
        | Op::UntypedAccessChainKHR
        | Op::UntypedInBoundsAccessChainKHR
        | Op::UntypedPtrAccessChainKHR
        | Op::UntypedInBoundsPtrAccessChainKHR
        | Op::UntypedPrefetchKHR
        | Op::GenericPtrMemSemantics
        | Op::PtrEqual
        | Op::PtrNotEqual
        | Op::PtrDiff
        | Op::SizeOf
        | Op::LifetimeStart
        | Op::LifetimeStop => memory::lower(cx, inst),

        Op::LoopMerge
        | Op::SelectionMerge
        | Op::Branch
        | Op::BranchConditional
        | Op::Switch
        | Op::Return
        | Op::ReturnValue
        | Op::Unreachable
        | Op::Kill
        | Op::TerminateInvocation
        | Op::FunctionCall => control::lower(cx, inst),

        Op::AtomicLoad
        | Op::AtomicStore
        | Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicCompareExchangeWeak
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicFlagTestAndSet
        | Op::AtomicFlagClear
        | Op::AtomicFAddEXT
        | Op::AtomicFMinEXT
        | Op::AtomicFMaxEXT => atomic::lower(cx, inst),

        Op::ControlBarrier
        | Op::MemoryBarrier
        | Op::GroupAsyncCopy
        | Op::UntypedGroupAsyncCopyKHR
        | Op::GroupWaitEvents => group::lower(cx, inst),

        Op::EnqueueKernel
        | Op::EnqueueMarker
        | Op::BuildNDRange
        | Op::GetDefaultQueue
        | Op::CreateUserEvent
        | Op::RetainEvent
        | Op::ReleaseEvent
        | Op::IsValidEvent
        | Op::SetUserEventStatus
        | Op::CaptureEventProfilingInfo
        | Op::GetKernelNDrangeSubGroupCount
        | Op::GetKernelNDrangeMaxSubGroupSize
        | Op::GetKernelWorkGroupSize
        | Op::GetKernelPreferredWorkGroupSizeMultiple
        | Op::GetKernelLocalSizeForSubgroupCount
        | Op::GetKernelMaxNumSubgroups => enqueue::lower(cx, inst),

        Op::NamedBarrierInitialize | Op::MemoryNamedBarrier => named_barrier::lower(cx, inst),

        Op::ReadPipe
        | Op::WritePipe
        | Op::ReservedReadPipe
        | Op::ReservedWritePipe
        | Op::ReserveReadPipePackets
        | Op::ReserveWritePipePackets
        | Op::CommitReadPipe
        | Op::CommitWritePipe
        | Op::IsValidReserveId
        | Op::GetNumPipePackets
        | Op::GetMaxPipePackets
        | Op::GroupReserveReadPipePackets
        | Op::GroupReserveWritePipePackets
        | Op::GroupCommitReadPipe
        | Op::GroupCommitWritePipe
        | Op::CreatePipeFromPipeStorage => pipe::lower(cx, inst),

        Op::GroupAll
        | Op::GroupAny
        | Op::GroupBroadcast
        | Op::GroupIAdd
        | Op::GroupFAdd
        | Op::GroupFMin
        | Op::GroupUMin
        | Op::GroupSMin
        | Op::GroupFMax
        | Op::GroupUMax
        | Op::GroupSMax
        | Op::GroupIMulKHR
        | Op::GroupFMulKHR
        | Op::GroupBitwiseAndKHR
        | Op::GroupBitwiseOrKHR
        | Op::GroupBitwiseXorKHR
        | Op::GroupLogicalAndKHR
        | Op::GroupLogicalOrKHR
        | Op::GroupLogicalXorKHR
        | Op::GroupNonUniformAll
        | Op::GroupNonUniformAny
        | Op::GroupNonUniformAllEqual
        | Op::GroupNonUniformBroadcast
        | Op::GroupNonUniformBroadcastFirst
        | Op::GroupNonUniformShuffle
        | Op::GroupNonUniformShuffleXor
        | Op::GroupNonUniformShuffleUp
        | Op::GroupNonUniformShuffleDown
        | Op::GroupNonUniformRotateKHR
        | Op::GroupNonUniformIAdd
        | Op::GroupNonUniformFAdd
        | Op::GroupNonUniformIMul
        | Op::GroupNonUniformFMul
        | Op::GroupNonUniformSMin
        | Op::GroupNonUniformUMin
        | Op::GroupNonUniformFMin
        | Op::GroupNonUniformSMax
        | Op::GroupNonUniformUMax
        | Op::GroupNonUniformFMax
        | Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalAnd
        | Op::GroupNonUniformLogicalOr
        | Op::GroupNonUniformLogicalXor => collective::lower(cx, inst),

        Op::SubgroupShuffleINTEL
        | Op::SubgroupShuffleDownINTEL
        | Op::SubgroupShuffleUpINTEL
        | Op::SubgroupShuffleXorINTEL => intel_sub_group::lower(cx, inst),

        Op::GroupNonUniformElect
        | Op::GroupNonUniformBallot
        | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract
        | Op::GroupNonUniformBallotBitCount
        | Op::GroupNonUniformBallotFindLSB
        | Op::GroupNonUniformBallotFindMSB => ballot::lower(cx, inst),

        Op::SampledImage
        | Op::Image
        | Op::ImageSampleExplicitLod
        | Op::ImageFetch
        | Op::ImageRead
        | Op::ImageWrite
        | Op::ImageQueryFormat
        | Op::ImageQueryOrder
        | Op::ImageQuerySizeLod
        | Op::ImageQuerySize
        | Op::ImageQueryLevels => image::lower(cx, inst),

        Op::ExtInst | Op::ExtInstWithForwardRefsKHR | Op::AssumeTrueKHR | Op::ExpectKHR | Op::ReadClockKHR => {
            misc::lower(cx, inst)
        }

        _ => Err(InstError::unsupported(missing(inst.op()))),
    }
}

/// The reason why an instruction that is not in the list above cannot be imported.
fn missing(op: Op) -> String {
    let name = format!("{op:?}");
    let reason = if name.starts_with("Image") {
        "this image instruction is not supported by this device"
    } else if name.starts_with("Group") {
        "this group instruction is not supported by this device"
    } else {
        "this instruction is not defined for OpenCL kernels"
    };
    reason.to_owned()
}
