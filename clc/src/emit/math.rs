//! What the options allow of floating-point arithmetic, as the `FPFastMathMode` decoration.

use spirv::{FPFastMathMode, Op};

use crate::options::MathOptions;

/// The decoration's operand; 0 for none.
pub(super) fn fast_math_mode(options: &MathOptions) -> u32 {
    let mut mode = FPFastMathMode::empty();
    if options.fast_relaxed_math {
        mode |= FPFastMathMode::FAST;
    }
    if options.fast_relaxed_math || options.finite_math_only {
        mode |= FPFastMathMode::NOT_NAN | FPFastMathMode::NOT_INF;
    }
    if options.fast_relaxed_math || options.unsafe_math || options.no_signed_zeros {
        mode |= FPFastMathMode::NSZ;
    }
    if options.fast_relaxed_math || options.unsafe_math {
        mode |= FPFastMathMode::ALLOW_RECIP;
    }
    mode.bits()
}

/// Whether an instruction may have the decoration, whatever its type.
pub(super) fn is_arithmetic(op: Op) -> bool {
    matches!(op, Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod)
}
