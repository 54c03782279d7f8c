//! Entity ids. All are small copyable indices; the entities are in the maps of [`crate::Function`] (values, instructions,
//! blocks, slots, constants) and [`crate::Module`] (functions, globals).

use cranelift_entity::entity_impl;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    };
}

entity!(
    /// An SSA value: the result of an instruction or a block parameter.
    Value, "v"
);
entity!(
    /// An instruction.
    Inst, "inst"
);
entity!(
    /// A basic block.
    Block, "b"
);
entity!(
    /// A function of a module.
    Func, "f"
);
entity!(
    /// A variable of a module: program-scope memory, a constant, or a `__local` variable.
    Global, "g"
);
entity!(
    /// A private variable of a function that lives in memory.
    Slot, "s"
);
entity!(
    /// An entry in a function's constant pool.
    Const, "c"
);
