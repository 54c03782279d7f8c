//! Families of instructions outside functions, an enum per family, so that the matches that define types, constants and
//! decorations are exhaustive. `ops/classes.rs` does the same for the instructions of functions.

#![allow(clippy::enum_variant_names, reason = "instructions have the names of the specification")]

use rspirv::spirv::Op;

macro_rules! families {
    ($($(#[doc = $doc:literal])* $family:ident { $($op:ident)* })*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(super) enum $family {
                $(#[doc = concat!("`Op", stringify!($op), "`")] $op,)*
            }

            impl $family {
                /// The instruction of the family; `None` for all others.
                pub(super) fn of(op: Op) -> Option<Self> {
                    $(if op == Op::$op {
                        return Some(Self::$op);
                    })*
                    None
                }
            }
        )*
    };
}

families! {
    /// Declarations of types, of which this device has values. `OpTypeForwardPointer` has no result and is apart.
    TypeInst {
        TypeVoid TypeBool TypeInt TypeFloat TypeVector TypeArray TypeRuntimeArray TypeStruct TypePointer TypeUntypedPointerKHR
        TypeFunction TypeOpaque TypeEvent TypeImage TypeSampler TypeSampledImage TypePipe TypeQueue TypePipeStorage TypeReserveId
        TypeDeviceEvent TypeNamedBarrier
    }
    /// Constants with a value of their own. `OpSpecConstantOp` contains another instruction; `OpConstantPipeStorage` is memory.
    ConstantInst {
        ConstantTrue ConstantFalse Constant ConstantComposite ConstantNull ConstantSampler Undef SpecConstantTrue SpecConstantFalse
        SpecConstant SpecConstantComposite
    }
    /// Decorations of ids and members.
    AnnotationInst {
        Decorate DecorateId DecorateString DecorationGroup GroupDecorate MemberDecorate MemberDecorateString GroupMemberDecorate
    }
}
