//! Modules that no assembler writes: broken headers, lengths, operands. What can be written as text is in
//! `jit/tests/files/spirv`.

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::{Capability, MAGIC_NUMBER, Op};

use super::module::Module;
use super::{caps, check, import, inspect, paired_angles, words};
use crate::builtins::ClOp;
use crate::{BuildError, ModuleInput, Options};

/// A header of version 1.2 with room for 100 ids.
const HEADER: [u32; 5] = [MAGIC_NUMBER, 0x0001_0200, 0, 100, 0];

/// An instruction's words.
fn op(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | op as u32];
    words.extend_from_slice(operands);
    words
}

/// A literal string's words.
fn text(bytes: &[u8]) -> Vec<u32> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() / 4 * 4 + 4, 0);
    padded.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// A module of some instructions.
fn module(insts: &[Vec<u32>]) -> Vec<u32> {
    HEADER.iter().copied().chain(insts.iter().flatten().copied()).collect()
}

/// The instructions before types: memory model and a kernel `k` that is function 9.
fn preamble() -> Vec<Vec<u32>> {
    vec![
        op(Op::Capability, &[6]),
        op(Op::Capability, &[4]),
        op(Op::MemoryModel, &[2, 2]),
        op(Op::EntryPoint, &[[6, 9].to_vec(), text(b"k")].concat()),
    ]
}

/// A kernel without parameters that executes some instructions. Types: 1 void, 2 i32, 3 f32, 4 function; constants: 5 (i32 7),
/// 6 (f32 1.0).
fn kernel(body: &[Vec<u32>]) -> Vec<u32> {
    let mut insts = preamble();
    insts.extend([
        op(Op::TypeVoid, &[1]),
        op(Op::TypeInt, &[2, 32, 0]),
        op(Op::TypeFloat, &[3, 32]),
        op(Op::TypeFunction, &[4, 1]),
        op(Op::Constant, &[2, 5, 7]),
        op(Op::Constant, &[3, 6, 0x3f80_0000]),
        op(Op::Function, &[1, 9, 0, 4]),
        op(Op::Label, &[10]),
    ]);
    insts.extend_from_slice(body);
    insts.push(op(Op::FunctionEnd, &[]));
    module(&insts)
}

/// What the import says.
fn error(words: &[u32]) -> String {
    let input = ModuleInput::new(words);
    let options = Options::default();
    match import(std::slice::from_ref(&input), &options) {
        Ok(imported) => panic!("imported:\n{}", imported.module),
        Err(error) => {
            assert!(check(&input, &options).is_err(), "imported in a check: {error}");
            error.to_string()
        }
    }
}

#[test]
fn headers() {
    let with = |place: usize, word: u32| {
        let mut words = kernel(&[op(Op::Return, &[])]);
        words[place] = word;
        inspect(&words).unwrap_err().to_string()
    };
    assert_eq!(
        inspect(&[]).unwrap_err().to_string(),
        "malformed SPIR-V at word 0 (header): 0 words are too few for a header"
    );
    assert!(inspect(&HEADER[..4]).is_err());
    assert!(with(0, MAGIC_NUMBER.swap_bytes()).contains("wrong byte order"));
    assert!(with(0, 1).contains("magic number 0x00000001"));
    for version in [0x0001_0700, 0x0002_0000, 0x0000_0100, 0x0101_0000, 0x0001_0001] {
        assert!(with(1, version).contains("not a supported version"), "{version:#x}");
    }
    for bound in [0, u32::MAX, 0x0040_0001] {
        assert!(with(3, bound).contains("id bound"), "{bound:#x}");
    }
    assert!(with(4, 1).contains("instruction schema"));
}

#[test]
fn every_version_is_accepted() {
    for &(major, minor) in crate::SPIRV_VERSIONS {
        let mut words = kernel(&[op(Op::Return, &[])]);
        words[1] = u32::from(major) << 16 | u32::from(minor) << 8;
        let summary = inspect(&words).unwrap();
        assert_eq!((summary.version, &summary.kernel_names[..]), ((major, minor), &["k".to_owned()][..]));
        import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    }
}

#[test]
fn lengths() {
    let good = kernel(&[op(Op::Return, &[])]);
    // A cut between two instructions may leave a module without kernels; any other cut leaves none.
    let mut starts = vec![HEADER.len()];
    while let Some(&start) = starts.last().filter(|&&start| start < good.len()) {
        starts.push(start + (good[start] >> 16) as usize);
    }
    for end in 0..good.len() {
        let cut = inspect(&good[..end]);
        assert!(cut.is_err() || starts.contains(&end), "cut at {end}: {cut:?}");
    }
    let end = good.len();
    let with = |words: &[u32]| error(&[&good[..], words].concat());
    assert_eq!(with(&[Op::Nop as u32]), format!("malformed SPIR-V at word {end} (OpNop): the word count is 0"));
    assert_eq!(
        with(&[5 << 16 | Op::IAdd as u32, 2, 11]),
        format!("malformed SPIR-V at word {end} (OpIAdd): the instruction has 5 words, but the module has only 3 more")
    );
    assert_eq!(with(&[1 << 16 | 9999]), format!("unsupported SPIR-V at word {end} (opcode 9999): unknown opcode"));
}

#[test]
fn operands() {
    let with = |inst: Vec<u32>| error(&kernel(&[inst, op(Op::Return, &[])]));
    let at = kernel(&[]).len() - 1;
    assert_eq!(
        with(op(Op::IAdd, &[2, 11, 5])),
        format!("malformed SPIR-V at word {at} (OpIAdd): operands are missing")
    );
    assert_eq!(
        with(op(Op::IAdd, &[2, 11, 5, 5, 5])),
        format!("malformed SPIR-V at word {at} (OpIAdd): there are too many operands")
    );
    assert_eq!(
        with(op(Op::IAdd, &[2, 11, 5, 100])),
        format!("malformed SPIR-V at word {at} (OpIAdd): id 100 is out of bounds (bound 100)")
    );
    assert!(with(op(Op::IAdd, &[2, 11, 5, 0])).contains("id 0 is out of bounds"));
    assert!(with(op(Op::IAdd, &[2, 5, 5, 5])).contains("id 5 is defined twice"));
    assert!(with(op(Op::Switch, &[6, 10, 1])).contains("OpSwitch"));
    assert!(with(op(Op::Load, &[2, 11, 5, 1 << 30])).contains("unknown enumerant"));
}

#[test]
fn switch_on_a_float() {
    let words = kernel(&[op(Op::Switch, &[6, 11, 1, 11]), op(Op::Label, &[11]), op(Op::Return, &[])]);
    assert!(error(&words).contains("%6 is not a scalar integer"), "{}", error(&words));
}

#[test]
fn extended_instructions() {
    let with = |operands: &[u32]| {
        let mut words = kernel(&[op(Op::ExtInst, operands), op(Op::Return, &[])]);
        // The import of the set belongs between capabilities and memory model.
        let set = op(Op::ExtInstImport, &[[20].to_vec(), text(b"OpenCL.std")].concat());
        words.splice(9..9, set);
        error(&words)
    };
    assert!(with(&[2, 11, 20, 9999, 5]).contains("OpenCL.std has no instruction 9999"));
    assert!(with(&[2, 11, 20, 156, 5]).contains("too few operands for s_max"));
    assert!(with(&[2, 11, 20, 156, 5, 5, 5]).contains("too many operands for s_max"));
    assert!(with(&[2, 11, 20, 156, 5, 0]).contains("%0 is not defined"));
    assert!(with(&[2, 11, 5, 156, 5, 5]).contains("the extended instruction set is not imported"));
}

#[test]
fn sines_and_cosines_of_the_same_angle() {
    let function = |op: ClOp, id: u32, angle: u32| self::op(Op::ExtInst, &[3, id, 20, op as u32, angle]);
    let mut words = kernel(&[
        op(Op::FMul, &[3, 11, 6, 6]),
        op(Op::FMul, &[3, 12, 6, 6]),
        op(Op::FAdd, &[3, 13, 6, 6]),
        function(ClOp::sin, 14, 11),
        function(ClOp::cos, 15, 12),
        function(ClOp::cos, 16, 13),
        function(ClOp::native_sin, 17, 13),
        op(Op::Return, &[]),
    ]);
    words.splice(9..9, op(Op::ExtInstImport, &[[20].to_vec(), text(b"OpenCL.std")].concat()));
    let module = Module::new(words::parse(&words).unwrap()).unwrap();
    let mut found: Vec<u32> = paired_angles::find(&module, &module.functions[0]).into_iter().collect();
    found.sort_unstable();
    assert_eq!(found, [14, 15]);
}

#[test]
fn names_in_other_encodings() {
    let mut insts = preamble();
    insts.insert(3, op(Op::ExtInstImport, &[[20].to_vec(), text(b"Unknown.set\xff")].concat()));
    assert!(error(&module(&insts)).contains("follows a later section"));
    let mut words = kernel(&[op(Op::Return, &[])]);
    let place = preamble().iter().map(Vec::len).sum::<usize>() + HEADER.len();
    words.splice(place..place, op(Op::Name, &[[9].to_vec(), text(b"caf\xe9")].concat()));
    let imported = import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    assert_eq!(imported.kernels[0].name, "k");
}

#[test]
fn folded_operations() {
    let with = |operands: &[u32]| {
        let mut words = kernel(&[op(Op::Return, &[])]);
        let place = words.len() - 1 - 1 - 2 - 5;
        words.splice(place..place, op(Op::SpecConstantOp, operands));
        error(&words)
    };
    assert!(with(&[2, 11, Op::Load as u32, 5]).contains("OpLoad may not be used in OpSpecConstantOp"));
    assert!(with(&[2, 11, 70000, 5]).contains("unknown opcode 70000"));
    assert!(with(&[2, 11]).contains("operands are missing"));
    assert!(with(&[2, 11, Op::IAdd as u32, 5]).contains("operands are missing"));
    assert!(with(&[2, 11, Op::IAdd as u32, 5, 6]).contains("the operands have different types: i32 and f32"));
}

#[test]
fn long_chains_of_constants() {
    // The number of a variable's address, and constants each of which negates the one before.
    let chain = |length: u32| {
        let mut insts = preamble();
        insts.extend([
            op(Op::TypeVoid, &[1]),
            op(Op::TypeInt, &[2, 32, 0]),
            op(Op::TypePointer, &[3, 5, 2]),
            op(Op::TypeFunction, &[4, 1]),
            op(Op::TypePointer, &[5, 5, 3]),
            op(Op::Variable, &[3, 6, 5]),
            op(Op::SpecConstantOp, &[2, 1000, Op::ConvertPtrToU as u32, 6]),
        ]);
        insts.extend((0..length).map(|i| op(Op::SpecConstantOp, &[2, 1001 + i, Op::Not as u32, 1000 + i])));
        insts.extend([
            op(Op::Function, &[1, 9, 0, 4]),
            op(Op::Label, &[10]),
            op(Op::CopyObject, &[2, 11, 1000 + length]),
            op(Op::Return, &[]),
            op(Op::FunctionEnd, &[]),
        ]);
        let mut words = module(&insts);
        words[3] = 60_000;
        words
    };
    let words = chain(255);
    import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    assert!(error(&chain(50_000)).contains("takes more than 256 operations on addresses"));
}

/// Instructions of vendors that assemblers may not know: a fence and a register are copies, bfloat16 is the upper half of a
/// float.
#[test]
fn instructions_of_vendors() {
    let body = |insts: &[Vec<u32>]| {
        let mut all = preamble();
        all.insert(0, op(Op::Capability, &[Capability::Int16 as u32]));
        all.insert(0, op(Op::Capability, &[Capability::BFloat16ConversionINTEL as u32]));
        all.insert(0, op(Op::Capability, &[Capability::ArithmeticFenceEXT as u32]));
        all.insert(0, op(Op::Capability, &[Capability::FPGARegALTERA as u32]));
        all.extend([
            op(Op::TypeVoid, &[1]),
            op(Op::TypeInt, &[2, 16, 0]),
            op(Op::TypeFloat, &[3, 32]),
            op(Op::TypeFunction, &[4, 1]),
            op(Op::Constant, &[3, 6, 0x3f81_8000]),
            op(Op::Function, &[1, 9, 0, 4]),
            op(Op::Label, &[10]),
        ]);
        all.extend_from_slice(insts);
        all.extend([op(Op::Return, &[]), op(Op::FunctionEnd, &[])]);
        module(&all)
    };
    let words = body(&[
        op(Op::ArithmeticFenceEXT, &[3, 20, 6]),
        op(Op::FPGARegALTERA, &[3, 21, 20]),
        op(Op::ConvertFToBF16INTEL, &[2, 22, 21]),
        op(Op::ConvertBF16ToFINTEL, &[3, 23, 22]),
    ]);
    import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    let wrong = body(&[op(Op::ConvertFToBF16INTEL, &[3, 22, 6])]);
    assert!(error(&wrong).contains("the instruction cannot convert f32 to f32"));
}

/// A variable that LLVM's back end declares as one pointer although its lifetime has the size of four.
#[test]
fn variables_have_the_size_of_their_lifetime() {
    let mut insts = preamble();
    insts.extend([
        op(Op::TypeVoid, &[1]),
        op(Op::TypeInt, &[2, 8, 0]),
        op(Op::TypeFunction, &[4, 1]),
        op(Op::TypePointer, &[5, 7, 2]),
        op(Op::TypePointer, &[6, 7, 5]),
        op(Op::Function, &[1, 9, 0, 4]),
        op(Op::Label, &[10]),
        op(Op::Variable, &[6, 11, 7]),
        op(Op::Bitcast, &[5, 12, 11]),
        op(Op::LifetimeStart, &[12, 32]),
        op(Op::Return, &[]),
        op(Op::FunctionEnd, &[]),
    ]);
    insts.insert(0, op(Op::Capability, &[Capability::Int8 as u32]));
    let mut words = module(&insts);
    let imported = |words: &[u32]| import(&[ModuleInput::new(words)], &Options::default()).unwrap().module.to_string();
    assert!(imported(&words).contains("size 8 "), "{}", imported(&words));
    words[2] = super::llvm_backend::GENERATOR << 16;
    assert!(imported(&words).contains("size 32 "), "{}", imported(&words));
}

/// LLVM's back end inserts integers that it has widened into vectors of bytes.
#[test]
fn widened_integers_are_inserted() {
    let mut insts = preamble();
    insts.insert(0, op(Op::Capability, &[Capability::Int8 as u32]));
    insts.extend([
        op(Op::TypeVoid, &[1]),
        op(Op::TypeInt, &[2, 32, 0]),
        op(Op::TypeInt, &[3, 8, 0]),
        op(Op::TypeVector, &[7, 3, 2]),
        op(Op::TypeFunction, &[4, 1]),
        op(Op::Constant, &[2, 5, 0x107]),
        op(Op::Undef, &[7, 8]),
        op(Op::Function, &[1, 9, 0, 4]),
        op(Op::Label, &[10]),
        op(Op::CompositeInsert, &[7, 11, 5, 8, 1]),
        op(Op::Return, &[]),
        op(Op::FunctionEnd, &[]),
    ]);
    let mut words = module(&insts);
    assert!(error(&words).contains("does not have the vector's component type"));
    words[2] = super::llvm_backend::GENERATOR << 16;
    let imported = import(&[ModuleInput::new(&words)], &Options::default()).unwrap().module.to_string();
    assert!(imported.contains(": i8 = itrunc "), "{imported}");
}

/// LLVM's back end widens one of two operands: what it would compute of the higher bits is not in the result.
#[test]
fn widened_operands_are_narrowed() {
    let with = |llvm: bool, opcode: Op, result: u32, operands: [u32; 2]| {
        let mut insts = preamble();
        insts.extend([
            op(Op::TypeVoid, &[1]),
            op(Op::TypeInt, &[2, 32, 0]),
            op(Op::TypeInt, &[3, 64, 0]),
            op(Op::TypeFunction, &[4, 1]),
            op(Op::Constant, &[2, 5, 7]),
            op(Op::Constant, &[3, 6, 1, 1]),
            op(Op::Function, &[1, 9, 0, 4]),
            op(Op::Label, &[10]),
            op(opcode, &[result, 11, operands[0], operands[1]]),
            op(Op::Return, &[]),
            op(Op::FunctionEnd, &[]),
        ]);
        let mut words = module(&insts);
        words[2] = if llvm { super::llvm_backend::GENERATOR << 16 } else { 0 };
        import(&[ModuleInput::new(&words)], &Options::default()).map(|imported| imported.module.to_string())
    };
    for opcode in [Op::BitwiseXor, Op::BitwiseOr, Op::BitwiseAnd, Op::IAdd, Op::ISub, Op::IMul] {
        for operands in [[5, 6], [6, 5]] {
            let imported = with(true, opcode, 2, operands).unwrap();
            assert!(imported.contains(": i32 = itrunc "), "{opcode:?}: {imported}");
            assert!(
                with(false, opcode, 2, operands).unwrap_err().to_string().contains("different types"),
                "{opcode:?}"
            );
            assert!(with(true, opcode, 3, operands).is_err(), "{opcode:?}");
        }
    }
    assert!(with(true, Op::UDiv, 2, [5, 6]).is_err());
}

#[test]
fn kernels_of_one_name_do_not_link() {
    let words = kernel(&[op(Op::Return, &[])]);
    let input = ModuleInput::new(&words);
    let result = import(&[input.clone(), input], &Options::default());
    assert_eq!(result.unwrap_err(), BuildError::Link("kernel `k` is defined more than once".to_owned()));
}

/// Functions get different names, also where a module has names of the form of those that are made.
#[test]
fn functions_of_one_name() {
    let mut insts = preamble();
    insts[3] = op(Op::EntryPoint, &[[6, 9].to_vec(), text(b"f.2")].concat());
    insts.extend([
        op(Op::Name, &[[11].to_vec(), text(b"f")].concat()),
        op(Op::Name, &[[12].to_vec(), text(b"f")].concat()),
    ]);
    insts.extend([op(Op::TypeVoid, &[1]), op(Op::TypeFunction, &[4, 1])]);
    for (function, callees) in [(9, &[11, 12][..]), (11, &[]), (12, &[])] {
        insts.extend([op(Op::Function, &[1, function, 0, 4]), op(Op::Label, &[function + 10])]);
        insts.extend(callees.iter().map(|&callee| op(Op::FunctionCall, &[1, callee + 20, callee])));
        insts.extend([op(Op::Return, &[]), op(Op::FunctionEnd, &[])]);
    }
    let words = module(&insts);
    let imported = import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    let mut names: Vec<&str> = imported.module.funcs.values().map(|func| func.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["f", "f.2", "f.3"]);
}

/// Functions that are known by name, with types for which there is no such function.
#[test]
fn imports_of_wrong_types() {
    // Types: 1 void, 2 i32, 3 f32, 4 kernel, 5 f32 pointer, 6 bool, 7 bool pointer, 8 image, 11 f32x4, 12 i32x2, 13 function;
    // constants: null of each.
    let with = |name: &[u8], result: u32, params: &[u32]| {
        let mut insts = preamble();
        insts.insert(0, op(Op::Capability, &[Capability::ImageBasic as u32]));
        insts.insert(0, op(Op::Capability, &[Capability::Linkage as u32]));
        let arguments: Vec<u32> = params.iter().map(|ty| ty + 30).collect();
        insts.extend([
            op(Op::Decorate, &[[20, 41].to_vec(), text(name), [1].to_vec()].concat()),
            op(Op::TypeVoid, &[1]),
            op(Op::TypeInt, &[2, 32, 0]),
            op(Op::TypeFloat, &[3, 32]),
            op(Op::TypePointer, &[5, 5, 3]),
            op(Op::TypeBool, &[6]),
            op(Op::TypePointer, &[7, 5, 6]),
            op(Op::TypeImage, &[8, 1, 1, 0, 0, 0, 0, 0, 0]),
            op(Op::TypeVector, &[11, 3, 4]),
            op(Op::TypeVector, &[12, 2, 2]),
            op(Op::TypeFunction, &[4, 1, 8]),
            op(Op::TypeFunction, &[&[13, result][..], params].concat()),
        ]);
        insts.extend([2, 3, 5, 6, 7, 12].map(|ty| op(Op::ConstantNull, &[ty, ty + 30])));
        insts.extend([op(Op::Function, &[result, 20, 0, 13])]);
        insts.extend((50..).zip(params).map(|(id, &ty)| op(Op::FunctionParameter, &[ty, id])));
        insts.extend([
            op(Op::FunctionEnd, &[]),
            op(Op::Function, &[1, 9, 0, 4]),
            op(Op::FunctionParameter, &[8, 38]),
            op(Op::Label, &[10]),
            op(Op::FunctionCall, &[&[result, 60, 20][..], &arguments].concat()),
            op(Op::Return, &[]),
            op(Op::FunctionEnd, &[]),
        ]);
        error(&module(&insts))
    };
    for (name, result, params) in [
        (&b"_Z10atomic_addPU3AS1Vff"[..], 3, &[5, 3][..]),
        (b"_Z10atomic_minPU3AS1Vff", 3, &[5, 3]),
        (b"_Z11atomic_xchgPU3AS1Vbb", 6, &[7, 6]),
        (b"_Z14atomic_cmpxchgPU3AS1Vbbb", 6, &[7, 6, 6]),
        (b"_Z16atomic_fetch_maxPU3AS1VU7_Atomicii", 6, &[7, 6]),
    ] {
        let error = with(name, result, params);
        assert!(error.contains("have the wrong types"), "{error}");
    }
    let read = b"_Z17clift_read_imagef14ocl_image2d_rofDv2_i";
    assert!(with(read, 11, &[8, 3, 12]).contains("is not a sampler"));
}

#[test]
fn errors_name_the_module() {
    let (good, bad) = (module(&preamble()[..3]), kernel(&[op(Op::IAdd, &[2, 11, 5, 6]), op(Op::Return, &[])]));
    let inputs = [ModuleInput::new(&good), ModuleInput::new(&bad)];
    let error = import(&inputs, &Options::default()).unwrap_err().to_string();
    assert!(error.ends_with("the operands have different types: i32 and f32 (module 2 of 2)"), "{error}");
}

#[test]
fn long_call_chains() {
    // A thousand functions, each calling the next; and one that calls the first again.
    let chain = |last: u32| {
        let mut insts = preamble();
        insts.extend([op(Op::TypeVoid, &[1]), op(Op::TypeFunction, &[4, 1])]);
        for i in 0..1000 {
            let id = if i == 0 { 9 } else { 1000 + i };
            let callee = if i == 999 { last } else { 1001 + i };
            insts.extend([op(Op::Function, &[1, id, 0, 4]), op(Op::Label, &[3000 + i])]);
            if callee != 0 {
                insts.push(op(Op::FunctionCall, &[1, 5000 + i, callee]));
            }
            insts.extend([op(Op::Return, &[]), op(Op::FunctionEnd, &[])]);
        }
        let mut words = module(&insts);
        words[3] = 10_000;
        words
    };
    let words = chain(0);
    import(&[ModuleInput::new(&words)], &Options::default()).unwrap();
    assert!(error(&chain(9)).contains("recursion"));
}

/// Every capability that is reported loads; every other that does not is refused by its name.
#[test]
fn capabilities_load_or_are_refused_by_name() {
    let names = |text: &str, capability: Capability| text.contains(&format!("{capability:?}"));
    for capability in (0..8000).filter_map(Capability::from_u32) {
        let mut words = kernel(&[op(Op::Return, &[])]);
        words.splice(5..5, op(Op::Capability, &[capability as u32]));
        match import(&[ModuleInput::new(&words)], &Options::default()) {
            Ok(_) => assert!(caps::accepts_capability(capability), "{capability:?}"),
            Err(error) => {
                assert!(!caps::accepts_capability(capability), "{capability:?}: {error}");
                let text = error.to_string();
                assert!(text.starts_with("unsupported") && names(&text, capability), "{capability:?}: {text}");
            }
        }
    }
}

/// Every instruction of the reported capabilities is known to the importer: it may find error with operands, not with the
/// instruction.
#[test]
fn instructions_of_reported_capabilities_are_known() {
    let reported = |capability: &Capability| caps::SUPPORTED_CAPABILITIES.contains(capability);
    let (mut checked, mut missing) = (0, Vec::new());
    for class in INSTRUCTION_TABLE.iter() {
        // Of images, and without a capability of their own.
        let image = class.opname.starts_with("Image") || class.opname == "SampledImage";
        // Of extensions that vendors made of the same capabilities.
        let foreign =
            !class.extensions.is_empty() && !class.extensions.iter().any(|name| caps::accepts_extension(name));
        if image || foreign || !(class.capabilities.is_empty() || class.capabilities.iter().any(reported)) {
            continue;
        }
        let mut operands = Vec::new();
        for operand in class.operands.iter().filter(|operand| operand.quantifier == OperandQuantifier::One) {
            match operand.kind {
                OperandKind::IdResultType => operands.push(2),
                OperandKind::IdResult => operands.push(50),
                OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => operands.push(5),
                OperandKind::LiteralString => operands.extend(text(b"x")),
                _ => operands.push(0),
            }
        }
        let words = kernel(&[op(class.opcode, &operands), op(Op::Return, &[])]);
        if let Err(error) = import(&[ModuleInput::new(&words)], &Options::default()) {
            let text = error.to_string();
            let unknown =
                text.contains("not supported by this device") || text.contains("not defined for OpenCL kernels");
            if unknown {
                missing.push(text);
            }
        }
        checked += 1;
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(checked > 250, "{checked}");
}

/// Each rule of the environment has a module that is refused by the rule's name, as it is or as the module of a producer that
/// is not known to break the rule. Modules of the producers in the table are accepted.
#[test]
fn rules_of_the_environment() {
    use super::environment::{Producers, Rule, TOLERATED};

    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/spirv/");
    let import_as = |path: &str, generator: Option<u32>| {
        let bytes = std::fs::read(format!("{files}{path}.spv")).unwrap();
        let mut words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        if let Some(generator) = generator {
            words[2] = generator << 16;
        }
        import(&[ModuleInput::new(&words)], &Options::default()).map(drop).map_err(|error| error.to_string())
    };
    for &rule in Rule::ALL {
        let tolerated = TOLERATED.iter().find(|row| row.0 == rule).map(|row| row.1);
        let file = match rule {
            Rule::VectorLength => "run/vector_lengths",
            Rule::AtomicFloat => "run/atomic_half",
            Rule::BuiltInClass => "run/built_in_variables",
            Rule::ArgumentPointer | Rule::ArgumentArray => "run/rule_argument_array",
            Rule::AtomicScope => "run/rule_atomic_scope",
            _ => &format!("error/rule_{}", rule.name().replace('-', "_")),
        };
        let (refused, accepted): (&[_], &[_]) = match tolerated {
            None => (&[None], &[]),
            Some(Producers::All) => (&[], &[None, Some(0)]),
            Some(Producers::Tools(tools)) => (&[Some(0), Some(99)], &[None, Some(tools[0])]),
        };
        for &generator in refused {
            let error = import_as(file, generator).expect_err(rule.name());
            assert!(error.contains(&format!(": rule {} of OpenCL's environment: ", rule.name())), "{file}: {error}");
            assert!(error.contains(" at word "), "{error}");
        }
        for &generator in accepted {
            import_as(file, generator).unwrap_or_else(|error| panic!("{file} of {generator:?}: {error}"));
        }
    }
}
