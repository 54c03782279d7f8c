//! The modules.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, Dim, ExecutionModel, FunctionControl, ImageFormat, MemoryModel, Op,
    StorageClass, Word,
};

/// Usual length of a chain.
pub(crate) const DEPTH: u32 = 1500;

/// A name and what makes the module of a length.
type Shape = (&'static str, fn(u32) -> Vec<u32>);

/// All shapes.
pub(crate) const ALL: &[Shape] = &[
    ("types/structs_in_structs", |n| types(n, false)),
    ("types/structs_of_two", |n| types(n.min(240), true)),
    ("types/arrays_in_arrays", arrays),
    ("constants/undefined_twice", |n| constants(n.min(47), Leaf::Undefined)),
    ("constants/null_twice", |n| constants(n.min(47), Leaf::Null)),
    ("constants/zero_twice", |n| constants(n.min(47), Leaf::Zero)),
    ("constants/one_twice", |n| constants(n.min(47), Leaf::One)),
    ("constants/ones_that_fit", |_| constants(23, Leaf::One)),
    ("constants/nothing_twice", |n| constants(n.min(240), Leaf::Nothing)),
    ("constants/of_addresses", |n| constants(n.min(16), Leaf::Address)),
    ("constants/many_variables", many_variables),
    ("constants/operations", |n| operations(n, false)),
    ("constants/operations_on_addresses", |n| operations(n.min(200), true)),
    ("expressions/integers", |n| expressions(n, Kind::Int)),
    ("expressions/floats", |n| expressions(n, Kind::Float)),
    ("expressions/vectors", |n| expressions(n / 4, Kind::Vector)),
    ("expressions/shuffles", |n| expressions(n / 4, Kind::Shuffle)),
    ("expressions/selects", |n| expressions(n, Kind::Select)),
    ("expressions/ids", |n| expressions(n, Kind::Id)),
    ("expressions/conversions", |n| expressions(n, Kind::Conversion)),
    ("expressions/aggregates", |n| expressions(n, Kind::Aggregate)),
    ("expressions/bitcasts", |n| expressions(n, Kind::Bitcast)),
    ("expressions/coordinates", |n| coordinates(n / 4)),
    ("expressions/addresses", addresses),
    ("expressions/conditions_twice", conditions),
    ("expressions/loads", |n| loads(n * 8, false)),
    ("expressions/stores", |n| loads(n, true)),
    ("blocks/chain", |n| blocks(n, false)),
    ("blocks/diamonds", |n| blocks(n / 8, true)),
    ("blocks/switches", |n| switches(n / 2)),
    ("functions/chain", |n| functions(n, 1)),
    ("functions/twice", |n| functions(n.min(60), 2)),
    ("decorations/groups", |n| decorations(n * 4)),
    ("modules/entry_points", |n| entry_points(n / 8)),
];

/// A module under construction with what all have.
struct Module {
    b: Builder,
    void: Word,
    int: Word,
    long: Word,
    float: Word,
    ints: Word,
}

impl Module {
    fn new() -> Module {
        let mut b = Builder::new();
        b.set_version(1, 2);
        for capability in [
            Capability::Addresses,
            Capability::Linkage,
            Capability::Kernel,
            Capability::Int64,
            Capability::ImageBasic,
            Capability::GenericPointer,
        ] {
            b.capability(capability);
        }
        b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
        let (void, int, long, float) = (b.type_void(), b.type_int(32, 0), b.type_int(64, 0), b.type_float(32, None));
        let ints = b.type_pointer(None, StorageClass::CrossWorkgroup, int);
        Module { b, void, int, long, float, ints }
    }

    /// Begins a kernel of a pointer to integers and some other parameters.
    fn kernel(&mut self, name: &str, others: &[Word]) -> (Word, Vec<Word>) {
        let params = std::iter::once(self.ints).chain(others.iter().copied()).collect::<Vec<_>>();
        let ty = self.b.type_function(self.void, params.clone());
        let function = self.b.begin_function(self.void, None, FunctionControl::NONE, ty).unwrap();
        self.b.entry_point(ExecutionModel::Kernel, function, name, []);
        let out = self.b.function_parameter(self.ints).unwrap();
        let others = others.iter().map(|&ty| self.b.function_parameter(ty).unwrap()).collect();
        self.b.begin_block(None).unwrap();
        (out, others)
    }

    fn end(&mut self) {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
    }

    /// The id of the work-item, from a variable that is declared here.
    fn id_variable(&mut self) -> Word {
        let vector = self.b.type_vector(self.long, 3);
        let pointer = self.b.type_pointer(None, StorageClass::Input, vector);
        let variable = self.b.variable(pointer, None, StorageClass::Input, None);
        let built_in = Operand::BuiltIn(rspirv::spirv::BuiltIn::GlobalInvocationId);
        self.b.decorate(variable, Decoration::BuiltIn, [built_in]);
        variable
    }

    fn read_id(&mut self, variable: Word) -> Word {
        let vector = self.b.type_vector(self.long, 3);
        let ids = self.b.load(vector, None, variable, None, []).unwrap();
        self.b.composite_extract(self.long, None, ids, [0]).unwrap()
    }

    fn number(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.int, value)
    }

    fn store(&mut self, pointer: Word, value: Word) {
        self.b.store(pointer, value, None, []).unwrap();
    }

    fn words(self) -> Vec<u32> {
        self.b.module().assemble()
    }
}

/// A struct in a struct, or twice in each: an instruction per level.
fn types(depth: u32, twice: bool) -> Vec<u32> {
    let mut m = Module::new();
    let mut ty = if twice { m.b.type_struct([]) } else { m.int };
    for _ in 0..depth {
        ty = m.b.type_struct(if twice { vec![ty, ty] } else { vec![ty] });
    }
    let pointer = m.b.type_pointer(None, StorageClass::CrossWorkgroup, ty);
    let (_, others) = m.kernel("k", &[pointer]);
    let value = m.b.load(ty, None, others[0], None, []).unwrap();
    m.store(others[0], value);
    m.end();
    m.words()
}

/// Arrays of one array; the initializer has the wrong type, which the message has to name.
fn arrays(depth: u32) -> Vec<u32> {
    let mut m = Module::new();
    let one = m.number(1);
    let mut ty = m.int;
    for _ in 0..depth.min(200) {
        ty = m.b.type_array(ty, one);
    }
    let null = m.b.constant_null(ty);
    let pointer = m.b.type_pointer(None, StorageClass::CrossWorkgroup, ty);
    m.b.variable(pointer, None, StorageClass::CrossWorkgroup, Some(null));
    let (out, _) = m.kernel("k", &[]);
    m.store(out, one);
    m.end();
    m.words()
}

/// What a nest of constants is made of.
#[derive(Clone, Copy)]
enum Leaf {
    Undefined,
    Null,
    Zero,
    One,
    Nothing,
    Address,
}

/// A nest of structs of two equal members.
fn nest(m: &mut Module, depth: u32, leaf: Leaf) -> (Word, Word) {
    let char = m.b.type_int(8, 0);
    let mut ty = match leaf {
        Leaf::Nothing => m.b.type_struct([]),
        Leaf::Address => m.ints,
        Leaf::Undefined | Leaf::Null | Leaf::Zero | Leaf::One => char,
    };
    let mut value = match leaf {
        Leaf::Undefined => m.b.undef(ty, None),
        Leaf::Null => m.b.constant_null(ty),
        Leaf::Zero => m.b.constant_bit32(ty, 0),
        Leaf::One => m.b.constant_bit32(ty, 1),
        Leaf::Nothing => m.b.constant_composite(ty, []),
        Leaf::Address => {
            let pointer = m.ints;
            let one = m.number(1);
            m.b.variable(pointer, None, StorageClass::CrossWorkgroup, Some(one))
        }
    };
    for _ in 0..depth {
        ty = m.b.type_struct([ty, ty]);
        value = m.b.constant_composite(ty, [value, value]);
    }
    (ty, value)
}

/// A nest of constants as initializers in all spaces and as a value.
fn constants(depth: u32, leaf: Leaf) -> Vec<u32> {
    let mut m = Module::new();
    let (ty, value) = nest(&mut m, depth, leaf);
    for class in [StorageClass::Workgroup, StorageClass::CrossWorkgroup, StorageClass::UniformConstant] {
        let local = class == StorageClass::Workgroup;
        if local && matches!(leaf, Leaf::One | Leaf::Address) {
            continue;
        }
        let pointer = m.b.type_pointer(None, class, ty);
        m.b.variable(pointer, None, class, Some(value));
    }
    let pointer = m.b.type_pointer(None, StorageClass::CrossWorkgroup, ty);
    let (_, others) = m.kernel("k", &[pointer]);
    m.store(others[0], value);
    m.end();
    m.words()
}

/// Many variables, each initialized by the same nest without values.
fn many_variables(count: u32) -> Vec<u32> {
    let mut m = Module::new();
    let (ty, value) = nest(&mut m, 20, Leaf::Undefined);
    let pointer = m.b.type_pointer(None, StorageClass::CrossWorkgroup, ty);
    for _ in 0..count {
        m.b.variable(pointer, None, StorageClass::CrossWorkgroup, Some(value));
    }
    let (out, _) = m.kernel("k", &[]);
    let one = m.number(1);
    m.store(out, one);
    m.end();
    m.words()
}

/// A chain of operations on constants, each of which takes the two before.
fn operations(depth: u32, of_address: bool) -> Vec<u32> {
    let mut m = Module::new();
    let long = m.long;
    let (mut a, mut b) = if of_address {
        let one = m.number(1);
        let variable = m.b.variable(m.ints, None, StorageClass::CrossWorkgroup, Some(one));
        let address = spec_op(&mut m.b, long, Op::ConvertPtrToU, &[variable]);
        (address, address)
    } else {
        (m.b.spec_constant_bit64(long, 3), m.b.spec_constant_bit64(long, 5))
    };
    for step in 0..depth {
        let op = [Op::IAdd, Op::ISub, Op::IAdd][step as usize % 3];
        (a, b) = (spec_op(&mut m.b, long, op, &[a, b]), a);
    }
    let (out, _) = m.kernel("k", &[]);
    let int = m.int;
    let value = m.b.u_convert(int, None, a).unwrap();
    m.store(out, value);
    m.end();
    m.words()
}

/// An `OpSpecConstantOp`, which the library's builder has no function for.
fn spec_op(b: &mut Builder, ty: Word, op: Op, operands: &[Word]) -> Word {
    let id = b.id();
    let operands = std::iter::once(Operand::LiteralSpecConstantOpInteger(op))
        .chain(operands.iter().map(|&operand| Operand::IdRef(operand)));
    let inst = rspirv::dr::Instruction::new(Op::SpecConstantOp, Some(ty), Some(id), operands.collect());
    b.module_mut().types_global_values.push(inst);
    id
}

/// What a chain of expressions is made of.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    Float,
    Vector,
    Shuffle,
    Select,
    Id,
    Conversion,
    Aggregate,
    Bitcast,
}

/// `a = a + b; b = b + a;` again and again, and the like.
fn expressions(depth: u32, kind: Kind) -> Vec<u32> {
    let mut m = Module::new();
    let (int, long, float) = (m.int, m.long, m.float);
    let bool = m.b.type_bool();
    let ints = m.b.type_vector(int, 4);
    let pair = m.b.type_struct([int, int]);
    let id = m.id_variable();
    let ty = match kind {
        Kind::Int | Kind::Select | Kind::Conversion | Kind::Bitcast | Kind::Aggregate => int,
        Kind::Float => float,
        Kind::Vector | Kind::Shuffle => ints,
        Kind::Id => long,
    };
    let (out, others) = m.kernel("k", &[ty, ty]);
    let this = m.read_id(id);
    let (mut a, mut b) = (others[0], others[1]);
    if matches!(kind, Kind::Int | Kind::Select | Kind::Aggregate) {
        let number = m.b.u_convert(int, None, this).unwrap();
        a = m.b.i_add(int, None, a, number).unwrap();
    } else if matches!(kind, Kind::Id) {
        a = m.b.i_add(long, None, a, this).unwrap();
    }
    for step in 0..depth {
        let c = match kind {
            Kind::Int if step % 5 == 4 => m.b.i_mul(int, None, a, b).unwrap(),
            Kind::Vector if step % 5 == 4 => m.b.i_sub(ints, None, a, b).unwrap(),
            Kind::Int | Kind::Vector | Kind::Id => m.b.i_add(ty, None, a, b).unwrap(),
            Kind::Float => m.b.f_add(float, None, a, b).unwrap(),
            Kind::Shuffle => m.b.vector_shuffle(ints, None, a, b, [0, 5, 2, 7]).unwrap(),
            Kind::Select => {
                let less = m.b.u_less_than(bool, None, a, b).unwrap();
                m.b.select(int, None, less, b, a).unwrap()
            }
            Kind::Conversion => {
                let sum = m.b.i_add(int, None, a, b).unwrap();
                let real = m.b.convert_s_to_f(float, None, sum).unwrap();
                m.b.convert_f_to_s(int, None, real).unwrap()
            }
            Kind::Aggregate => {
                let both = m.b.composite_construct(pair, None, [a, b]).unwrap();
                let both = m.b.composite_insert(pair, None, b, both, [0]).unwrap();
                let (first, second) = (
                    m.b.composite_extract(int, None, both, [0]).unwrap(),
                    m.b.composite_extract(int, None, both, [1]).unwrap(),
                );
                m.b.bitwise_xor(int, None, first, second).unwrap()
            }
            Kind::Bitcast => {
                let real = m.b.bitcast(float, None, a).unwrap();
                let real = m.b.f_add(float, None, real, real).unwrap();
                let back = m.b.bitcast(int, None, real).unwrap();
                m.b.i_add(int, None, back, b).unwrap()
            }
        };
        (a, b) = (b, c);
    }
    let value = match kind {
        Kind::Int | Kind::Select | Kind::Conversion | Kind::Bitcast | Kind::Aggregate => b,
        Kind::Float => m.b.convert_f_to_s(int, None, b).unwrap(),
        Kind::Vector | Kind::Shuffle => m.b.composite_extract(int, None, b, [1]).unwrap(),
        Kind::Id => m.b.u_convert(int, None, b).unwrap(),
    };
    let place = m.b.in_bounds_ptr_access_chain(m.ints, None, out, this, []).unwrap();
    m.store(place, value);
    m.end();
    m.words()
}

/// A chain of sums as the coordinates of a read of an image.
fn coordinates(depth: u32) -> Vec<u32> {
    let mut m = Module::new();
    let (int, float) = (m.int, m.float);
    let (pairs, colour) = (m.b.type_vector(float, 2), m.b.type_vector(float, 4));
    let access = Some(rspirv::spirv::AccessQualifier::ReadOnly);
    let image = m.b.type_image(m.void, Dim::Dim2D, 0, 0, 0, 0, ImageFormat::Unknown, access);
    let sampler = m.b.type_sampler();
    let sampled = m.b.type_sampled_image(image);
    let zero = m.b.constant_bit32(float, 0);
    let id = m.id_variable();
    let (out, others) = m.kernel("k", &[image, sampler, pairs, pairs]);
    let this = m.read_id(id);
    let (mut a, mut b) = (others[2], others[3]);
    for _ in 0..depth {
        (a, b) = (b, m.b.f_add(pairs, None, a, b).unwrap());
    }
    let both = m.b.sampled_image(sampled, None, others[0], others[1]).unwrap();
    let lod = rspirv::spirv::ImageOperands::LOD;
    let read = m.b.image_sample_explicit_lod(colour, None, both, b, lod, [Operand::IdRef(zero)]).unwrap();
    let first = m.b.composite_extract(float, None, read, [0]).unwrap();
    let value = m.b.convert_f_to_s(int, None, first).unwrap();
    let place = m.b.in_bounds_ptr_access_chain(m.ints, None, out, this, []).unwrap();
    m.store(place, value);
    m.end();
    m.words()
}

/// A pointer stepped again and again, by constants and by ids, through the generic space and back.
fn addresses(depth: u32) -> Vec<u32> {
    let mut m = Module::new();
    let (int, long) = (m.int, m.long);
    let generic = m.b.type_pointer(None, StorageClass::Generic, int);
    let one = m.b.constant_bit64(long, 1);
    let id = m.id_variable();
    let (out, _) = m.kernel("k", &[]);
    let this = m.read_id(id);
    let mut place = out;
    for step in 0..depth {
        place = match step % 4 {
            0 => m.b.in_bounds_ptr_access_chain(m.ints, None, place, one, []).unwrap(),
            1 => m.b.in_bounds_ptr_access_chain(m.ints, None, place, this, []).unwrap(),
            2 => m.b.ptr_cast_to_generic(generic, None, place).unwrap(),
            _ => m.b.generic_cast_to_ptr(m.ints, None, place).unwrap(),
        };
    }
    let one = m.number(1);
    m.store(place, one);
    m.end();
    m.words()
}

/// A condition each term of which has the one before twice.
fn conditions(depth: u32) -> Vec<u32> {
    let mut m = Module::new();
    let (int, bool) = (m.int, m.b.type_bool());
    let numbers: Vec<Word> = (0..depth).map(|number| m.number(number)).collect();
    let (out, others) = m.kernel("k", &[int, int]);
    let mut all = m.b.i_not_equal(bool, None, others[0], others[1]).unwrap();
    for number in numbers {
        let [a, b] = [others[0], others[1]].map(|other| {
            let less = m.b.u_less_than(bool, None, number, other).unwrap();
            m.b.logical_and(bool, None, all, less).unwrap()
        });
        all = m.b.logical_and(bool, None, a, b).unwrap();
    }
    let (then, end) = (m.b.id(), m.b.id());
    m.b.branch_conditional(all, then, end, []).unwrap();
    m.b.begin_block(Some(then)).unwrap();
    m.store(out, others[0]);
    m.b.branch(end).unwrap();
    m.b.begin_block(Some(end)).unwrap();
    m.end();
    m.words()
}

/// The sum of many integers in memory; each sum of the first of them may be stored.
fn loads(count: u32, stores: bool) -> Vec<u32> {
    let mut m = Module::new();
    let (int, long, ints) = (m.int, m.long, m.ints);
    let indices: Vec<Word> = (0..count).map(|number| m.b.constant_bit64(long, number.into())).collect();
    let (out, others) = m.kernel("k", &[ints]);
    let mut sum = m.b.load(int, None, out, None, []).unwrap();
    for index in indices {
        let place = m.b.in_bounds_ptr_access_chain(ints, None, others[0], index, []).unwrap();
        let value = m.b.load(int, None, place, None, []).unwrap();
        sum = m.b.i_add(int, None, sum, value).unwrap();
        if stores {
            let place = m.b.in_bounds_ptr_access_chain(ints, None, out, index, []).unwrap();
            m.store(place, sum);
        }
    }
    m.store(out, sum);
    m.end();
    m.words()
}

/// Switches one behind the other, none of which is in a loop.
fn switches(count: u32) -> Vec<u32> {
    const CASES: u32 = 5;
    let mut m = Module::new();
    let int = m.int;
    let numbers: Vec<Word> = (1..=CASES).map(|number| m.number(number * 3)).collect();
    let (out, others) = m.kernel("k", &[int]);
    let mut value = others[0];
    for _ in 0..count {
        let (switch, next) = (m.b.id(), m.b.id());
        m.b.branch(switch).unwrap();
        m.b.begin_block(Some(switch)).unwrap();
        let cases: Vec<(Operand, Word)> = (0..CASES).map(|case| (Operand::LiteralBit32(case), m.b.id())).collect();
        m.b.switch(value, next, cases.clone()).unwrap();
        let mut values = vec![(value, switch)];
        for ((_, case), &number) in cases.into_iter().zip(&numbers) {
            m.b.begin_block(Some(case)).unwrap();
            let changed = m.b.i_mul(int, None, value, number).unwrap();
            m.store(out, changed);
            m.b.branch(next).unwrap();
            values.push((changed, case));
        }
        m.b.begin_block(Some(next)).unwrap();
        value = m.b.phi(int, None, values).unwrap();
    }
    m.store(out, value);
    m.end();
    m.words()
}

/// Blocks one behind the other, or each around two ways that meet again, with a value that goes through all of them.
fn blocks(depth: u32, diamonds: bool) -> Vec<u32> {
    let mut m = Module::new();
    let int = m.int;
    let bool = m.b.type_bool();
    let one = m.number(1);
    let id = m.id_variable();
    let (out, others) = m.kernel("k", &[int]);
    let this = m.read_id(id);
    let number = m.b.u_convert(int, None, this).unwrap();
    let mut value = m.b.i_add(int, None, number, others[0]).unwrap();
    for _ in 0..depth {
        let (then, next) = (m.b.id(), m.b.id());
        if diamonds {
            let less = m.b.u_less_than(bool, None, value, number).unwrap();
            let before = value;
            let here = m.b.id();
            m.b.branch(here).unwrap();
            m.b.begin_block(Some(here)).unwrap();
            m.b.branch_conditional(less, then, next, []).unwrap();
            m.b.begin_block(Some(then)).unwrap();
            let changed = m.b.i_add(int, None, value, one).unwrap();
            m.b.branch(next).unwrap();
            m.b.begin_block(Some(next)).unwrap();
            value = m.b.phi(int, None, [(before, here), (changed, then)]).unwrap();
            value = m.b.i_mul(int, None, value, number).unwrap();
        } else {
            m.b.branch(next).unwrap();
            m.b.begin_block(Some(next)).unwrap();
            value = m.b.bitwise_xor(int, None, value, number).unwrap();
            value = m.b.i_add(int, None, value, one).unwrap();
        }
    }
    let place = m.b.in_bounds_ptr_access_chain(m.ints, None, out, this, []).unwrap();
    m.store(place, value);
    m.end();
    m.words()
}

/// Functions that each call the one before.
fn functions(depth: u32, calls: u32) -> Vec<u32> {
    let mut m = Module::new();
    let int = m.int;
    let ty = m.b.type_function(int, [int]);
    let one = m.number(1);
    let mut before = None;
    for _ in 0..depth {
        let function = m.b.begin_function(int, None, FunctionControl::NONE, ty).unwrap();
        let param = m.b.function_parameter(int).unwrap();
        m.b.begin_block(None).unwrap();
        let mut value = m.b.i_add(int, None, param, one).unwrap();
        if let Some(before) = before {
            for _ in 0..calls {
                value = m.b.function_call(int, None, before, [value]).unwrap();
            }
        }
        m.b.ret_value(value).unwrap();
        m.b.end_function().unwrap();
        before = Some(function);
    }
    let (out, others) = m.kernel("k", &[int]);
    let value = m.b.function_call(int, None, before.unwrap(), [others[0]]).unwrap();
    m.store(out, value);
    m.end();
    m.words()
}

/// A group of many decorations on many ids.
fn decorations(count: u32) -> Vec<u32> {
    let mut m = Module::new();
    let int = m.int;
    let targets: Vec<Word> = (0..count).map(|number| m.b.spec_constant_bit32(int, number)).collect();
    let group = m.b.decoration_group();
    for _ in 0..count {
        m.b.decorate(group, Decoration::Alignment, [Operand::LiteralBit32(4)]);
    }
    m.b.group_decorate(group, targets.clone());
    let (out, _) = m.kernel("k", &[]);
    m.store(out, targets[0]);
    m.end();
    m.words()
}

/// Many kernels of the same parameters.
fn entry_points(count: u32) -> Vec<u32> {
    let mut m = Module::new();
    let one = m.number(1);
    for number in 0..count {
        let (out, _) = m.kernel(&format!("kernel{number}"), &[]);
        m.store(out, one);
        m.end();
    }
    m.words()
}
