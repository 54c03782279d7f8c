//! What the objects of each type must not be used for: the table of OpenCL C's restrictions of opaque types and blocks.

use super::{Scalar, TypeKind};

bitflags::bitflags! {
    /// Uses of a type.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Uses: u16 {
        /// Objects that pointers point to.
        const POINTEE = 1;
        /// Operands of `&`.
        const ADDRESS_OF = 2;
        /// Elements of arrays.
        const ELEMENT = 4;
        /// Members of a `struct` or `union`.
        const FIELD = 8;
        /// Results of functions.
        const RESULT = 16;
        /// Variables of any kind: only parameters have the type.
        const VARIABLE = 32;
        /// Variables in program scope, and `static` ones.
        const PROGRAM_SCOPE = 64;
        /// Parameters of kernels.
        const KERNEL_PARAMETER = 128;
    }
}

impl TypeKind {
    /// Whether objects of the type must not be used in one of these ways.
    pub fn forbids(&self, uses: Uses) -> bool {
        self.forbidden().intersects(uses)
    }

    fn forbidden(&self) -> Uses {
        let opaque = Uses::POINTEE | Uses::ADDRESS_OF | Uses::ELEMENT | Uses::FIELD | Uses::RESULT;
        match self {
            TypeKind::Image(..) | TypeKind::Pipe(..) => opaque | Uses::VARIABLE,
            TypeKind::Sampler => opaque,
            TypeKind::Event | TypeKind::NamedBarrier => Uses::FIELD | Uses::PROGRAM_SCOPE | Uses::KERNEL_PARAMETER,
            TypeKind::ReserveId => Uses::PROGRAM_SCOPE | Uses::KERNEL_PARAMETER,
            TypeKind::ClkEvent | TypeKind::Queue => Uses::PROGRAM_SCOPE,
            TypeKind::BlockPointer(_) => Uses::ADDRESS_OF | Uses::ELEMENT | Uses::FIELD | Uses::KERNEL_PARAMETER,
            TypeKind::NdRange | TypeKind::FunctionPointer(_) | TypeKind::Scalar(Scalar::Bool) => Uses::KERNEL_PARAMETER,
            TypeKind::Error
            | TypeKind::Void
            | TypeKind::Scalar(_)
            | TypeKind::Vector(..)
            | TypeKind::Pointer(_)
            | TypeKind::Array(..)
            | TypeKind::Function(_)
            | TypeKind::Record(_)
            | TypeKind::Enum(_)
            | TypeKind::Atomic(_) => Uses::empty(),
        }
    }
}
