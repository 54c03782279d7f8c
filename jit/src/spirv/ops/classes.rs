//! The classes of instructions: which file of this folder imports an instruction, and an enum per class, so that the matches in
//! those files are exhaustive.

#![allow(clippy::enum_variant_names, reason = "instructions have the names of the specification")]

use rspirv::spirv::Op;

macro_rules! classes {
    ($($(#[doc = $doc:literal])* $class:ident { $($op:ident)* })*) => {
        /// An instruction that functions may contain, by its class.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Class {
            $($(#[doc = $doc])* $class($class),)*
        }

        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(super) enum $class {
                $(#[doc = concat!("`Op", stringify!($op), "`")] $op,)*
            }
        )*

        impl Class {
            /// The class of an instruction; `None` if kernels cannot contain it on this device.
            pub(super) fn of(op: Op) -> Option<Self> {
                match op {
                    $($(Op::$op => Some(Self::$class($class::$op)),)*)*
                    _ => None,
                }
            }
        }
    };
}

classes! {
    /// Arithmetic with one result.
    ArithInst {
        SNegate FNegate IAdd FAdd ISub FSub IMul FMul UDiv SDiv FDiv UMod SRem SMod FRem FMod VectorTimesScalar Dot FmaKHR
    }
    /// Integer arithmetic whose result is a struct of two values.
    WideInst {
        IAddCarry ISubBorrow UMulExtended SMulExtended
    }
    /// Integer dot products.
    DotInst {
        SDot UDot SUDot SDotAccSat UDotAccSat SUDotAccSat
    }
    /// Conversions.
    ConvertInst {
        ConvertFToU ConvertFToS ConvertSToF ConvertUToF UConvert SConvert FConvert ConvertPtrToU SatConvertSToU SatConvertUToS
        ConvertUToPtr PtrCastToGeneric GenericCastToPtr GenericCastToPtrExplicit Bitcast ConvertFToBF16INTEL ConvertBF16ToFINTEL
    }
    /// Comparisons, logic and selection.
    LogicInst {
        Any All LessOrGreater Ordered Unordered LogicalEqual LogicalNotEqual LogicalOr LogicalAnd LogicalNot Select IEqual INotEqual
        UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual ULessThan SLessThan ULessThanEqual SLessThanEqual FOrdEqual
        FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan FUnordLessThan FOrdGreaterThan FUnordGreaterThan FOrdLessThanEqual
        FUnordLessThanEqual FOrdGreaterThanEqual FUnordGreaterThanEqual
    }
    /// Tests of a float's class.
    ClassifyInst {
        IsNan IsInf IsFinite IsNormal SignBitSet
    }
    /// Shifts, bitwise logic and bit fields.
    BitInst {
        ShiftRightLogical ShiftRightArithmetic ShiftLeftLogical BitwiseOr BitwiseXor BitwiseAnd Not BitFieldInsert BitFieldSExtract
        BitFieldUExtract BitReverse BitCount
    }
    /// Vectors and aggregates.
    CompositeInst {
        VectorExtractDynamic VectorInsertDynamic VectorShuffle CompositeConstruct CompositeExtract CompositeInsert CopyObject
        CopyLogical Undef ArithmeticFenceEXT FPGARegALTERA
    }
    /// Variables, accesses and addresses.
    MemoryInst {
        Variable Load Store CopyMemory CopyMemorySized AccessChain InBoundsAccessChain PtrAccessChain InBoundsPtrAccessChain
        UntypedVariableKHR UntypedAccessChainKHR UntypedInBoundsAccessChainKHR UntypedPtrAccessChainKHR
        UntypedInBoundsPtrAccessChainKHR UntypedPrefetchKHR GenericPtrMemSemantics PtrEqual PtrNotEqual PtrDiff SizeOf LifetimeStart
        LifetimeStop
    }
    /// Control flow and calls.
    ControlInst {
        LoopMerge SelectionMerge Branch BranchConditional Switch Return ReturnValue Unreachable Kill TerminateInvocation
        FunctionCall LoopControlINTEL
    }
    /// Atomic operations but read-modify-write arithmetic.
    AtomicInst {
        AtomicLoad AtomicStore AtomicExchange AtomicCompareExchange AtomicCompareExchangeWeak AtomicFlagTestAndSet AtomicFlagClear
    }
    /// Atomic read-modify-write arithmetic.
    UpdateInst {
        AtomicIIncrement AtomicIDecrement AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax AtomicAnd AtomicOr
        AtomicXor AtomicFAddEXT AtomicFMinEXT AtomicFMaxEXT
    }
    /// Barriers, fences and asynchronous copies.
    GroupInst {
        ControlBarrier ControlBarrierArriveINTEL ControlBarrierWaitINTEL MemoryBarrier GroupAsyncCopy UntypedGroupAsyncCopyKHR GroupWaitEvents
    }
    /// Device-side enqueue.
    EnqueueInst {
        EnqueueKernel EnqueueMarker BuildNDRange GetDefaultQueue CreateUserEvent RetainEvent ReleaseEvent IsValidEvent
        SetUserEventStatus CaptureEventProfilingInfo GetKernelNDrangeSubGroupCount GetKernelNDrangeMaxSubGroupSize
        GetKernelWorkGroupSize GetKernelPreferredWorkGroupSizeMultiple GetKernelLocalSizeForSubgroupCount GetKernelMaxNumSubgroups
    }
    /// Named barriers.
    NamedBarrierInst {
        NamedBarrierInitialize MemoryNamedBarrier
    }
    /// Pipes.
    PipeInst {
        ReadPipe WritePipe ReservedReadPipe ReservedWritePipe ReserveReadPipePackets ReserveWritePipePackets CommitReadPipe
        CommitWritePipe IsValidReserveId GetNumPipePackets GetMaxPipePackets GroupReserveReadPipePackets
        GroupReserveWritePipePackets GroupCommitReadPipe GroupCommitWritePipe CreatePipeFromPipeStorage
    }
    /// Votes, broadcasts and shuffles.
    CollectiveInst {
        GroupAll GroupAny GroupBroadcast GroupNonUniformAll GroupNonUniformAny GroupNonUniformAllEqual GroupNonUniformBroadcast
        GroupNonUniformBroadcastFirst GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp
        GroupNonUniformShuffleDown GroupNonUniformRotateKHR
    }
    /// Reductions and scans.
    CombineInst {
        GroupIAdd GroupFAdd GroupFMin GroupUMin GroupSMin GroupFMax GroupUMax GroupSMax GroupIMulKHR GroupFMulKHR GroupBitwiseAndKHR
        GroupBitwiseOrKHR GroupBitwiseXorKHR GroupLogicalAndKHR GroupLogicalOrKHR GroupLogicalXorKHR GroupNonUniformIAdd
        GroupNonUniformFAdd GroupNonUniformIMul GroupNonUniformFMul GroupNonUniformSMin GroupNonUniformUMin GroupNonUniformFMin
        GroupNonUniformSMax GroupNonUniformUMax GroupNonUniformFMax GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr
        GroupNonUniformBitwiseXor GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor
    }
    /// Shuffles of `SPV_INTEL_subgroups`.
    ShuffleInst {
        SubgroupShuffleINTEL SubgroupShuffleDownINTEL SubgroupShuffleUpINTEL SubgroupShuffleXorINTEL
    }
    /// Accesses to blocks of `SPV_INTEL_subgroups`.
    BlockInst {
        SubgroupBlockReadINTEL SubgroupBlockWriteINTEL SubgroupImageBlockReadINTEL SubgroupImageBlockWriteINTEL
    }
    /// Ballots.
    BallotInst {
        GroupNonUniformElect GroupNonUniformBallot GroupNonUniformInverseBallot GroupNonUniformBallotBitExtract
        GroupNonUniformBallotBitCount GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB
    }
    /// Images.
    ImageInst {
        SampledImage Image ImageSampleExplicitLod ImageFetch ImageRead ImageWrite ImageQueryFormat ImageQueryOrder ImageQuerySizeLod
        ImageQuerySize ImageQueryLevels
    }
    /// Extended instructions, hints and the clock.
    MiscInst {
        ExtInst ExtInstWithForwardRefsKHR AssumeTrueKHR ExpectKHR ReadClockKHR
    }
}
