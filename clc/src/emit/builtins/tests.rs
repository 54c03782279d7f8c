//! A call of every overload of every built-in function. If `spirv-val` is installed, it has to accept the modules.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::builtins::{Environment, find, names};
use crate::options::{Options, Profile, Version};
use crate::types::{Access, AddressSpace, ImageShape, Ty, TypeKind, TypeTable};

/// Functions whose arguments are checked specially: `printf`, and those of blocks.
const SPECIAL: [&str; 6] = [
    "printf",
    "enqueue_kernel",
    "get_kernel_work_group_size",
    "get_kernel_preferred_work_group_size_multiple",
    "get_kernel_max_sub_group_size_for_ndrange",
    "get_kernel_sub_group_count_for_ndrange",
];

/// Functions whose valid instructions `spirv-val` refuses: writes of a level, the clock of the work-group.
const REFUSED: [&str; 6] = [
    "write_imagef",
    "write_imagei",
    "write_imageui",
    "write_imageh",
    "clock_read_work_group",
    "clock_read_hilo_work_group",
];

/// A type as OpenCL C writes it.
fn spell(types: &TypeTable, ty: Ty) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no signature has the other types")]
    match types.kind(ty) {
        TypeKind::Void => "void".to_owned(),
        TypeKind::Scalar(scalar) => scalar.name().to_owned(),
        TypeKind::Vector(scalar, lanes) => format!("{}{lanes}", scalar.name()),
        TypeKind::Atomic(of) => format!("atomic_{}", spell(types, *of)),
        TypeKind::Pointer(to) => {
            let space = match to.quals.space {
                AddressSpace::Private => "private",
                AddressSpace::Global => "global",
                AddressSpace::Constant => "constant",
                AddressSpace::Local => "local",
                AddressSpace::Generic => "generic",
            };
            let constant = if to.quals.is_const { "const " } else { "" };
            format!("{constant}{space} {}*", spell(types, to.ty))
        }
        TypeKind::Image(shape, access) => {
            let access = match access {
                Access::ReadOnly => "read_only",
                Access::WriteOnly => "write_only",
                Access::ReadWrite => "read_write",
            };
            let name = ImageShape::NAMES.iter().find(|(one, _)| one == shape).map_or("", |(_, name)| name);
            format!("{access} {name}")
        }
        TypeKind::Sampler => "sampler_t".to_owned(),
        TypeKind::Event => "event_t".to_owned(),
        TypeKind::ClkEvent => "clk_event_t".to_owned(),
        TypeKind::Queue => "queue_t".to_owned(),
        TypeKind::NdRange => "ndrange_t".to_owned(),
        TypeKind::ReserveId => "reserve_id_t".to_owned(),
        TypeKind::NamedBarrier => "named_barrier_t".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Atomic operations on floats: their capabilities, like that of the clock, contain `Shader`, which requires constant orders
/// and scopes.
fn takes_floats(name: &str) -> bool {
    ["add", "sub", "min", "max"]
        .iter()
        .any(|op| name.strip_prefix("atomic_fetch_").is_some_and(|rest| rest.starts_with(op)))
}

/// A source with a function for each overload of a name; the constants that some arguments have to be.
fn calls(name: &str, environment: Environment<'_>) -> String {
    let mut types = TypeTable::new(8);
    let mut source = String::new();
    let function = find(name, environment, &mut types).unwrap_or_default();
    for (number, overload) in function.overloads.iter().enumerate() {
        if overload.parameters.iter().any(|parameter| parameter.ty == types.error()) {
            continue;
        }
        let (mut parameters, mut arguments) = (String::new(), String::new());
        for (index, parameter) in overload.parameters.iter().enumerate() {
            let is_last = index + 1 == overload.parameters.len();
            let is_constant = if takes_floats(name) {
                index > 1
            } else {
                is_last && (name.starts_with("sub_group_clustered") || name == "sub_group_non_uniform_broadcast")
            };
            let between = if index == 0 { "" } else { ", " };
            let before = if parameters.is_empty() { "" } else { ", " };
            if is_constant {
                let _ = write!(arguments, "{between}4");
            } else {
                let _ = write!(arguments, "{between}a{index}");
                let _ = write!(parameters, "{before}{} a{index}", spell(&types, parameter.ty));
            }
        }
        let result = spell(&types, overload.result);
        let value = if result == "void" { "" } else { "return " };
        let prefix = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let _ = writeln!(source, "{result} test_{prefix}_{number}({parameters}) {{ {value}{name}({arguments}); }}");
    }
    source
}

/// Compiles a source and validates the module.
fn check(source: &str, options: &Options, validates: bool) {
    let output = crate::compile(source.as_bytes(), options);
    let words = output.words.unwrap_or_else(|| panic!("{}\n{source}", output.log));
    let mut command = Command::new("spirv-val");
    command.args(["--target-env", "spv1.5", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if !validates {
        return;
    }
    let Ok(mut child) = command.spawn() else { return };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let result = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&result.stderr).into_owned() + &String::from_utf8_lossy(&result.stdout);
    assert!(result.status.success(), "{text}\n{source}");
}

fn check_all(version: Version) {
    let mut profile = Profile::full();
    profile.extensions.extend(["cl_khr_work_group_uniform_arithmetic", "cl_khr_gl_msaa_sharing"]);
    let profile = Arc::new(profile);
    let options = Options {
        version,
        profile: profile.clone(),
        whole_program: false,
        kernel_arg_info: false,
        ..Options::default()
    };
    let environment = Environment { version, profile: &profile };
    let generated =
        ["convert_uchar_sat_rtp", "convert_half4_rtz", "convert_long3", "convert_double16", "convert_ushort8_sat"];
    let bits = ["as_float3", "as_char4", "as_ulong", "as_half8", "as_size_t", "as_short16"];
    let mut source = String::new();
    let mut count = 0;
    for name in names().chain(generated).chain(bits).filter(|name| !SPECIAL.contains(name)) {
        let text = calls(name, environment);
        count += text.lines().count();
        let validates = !REFUSED.contains(&name);
        if !validates || ["atomic_", "clock_"].iter().any(|start| name.starts_with(start)) {
            check(&text, &options, validates && !text.is_empty());
            continue;
        }
        source += &text;
        if source.len() > 100_000 {
            check(&source, &options, true);
            source.clear();
        }
    }
    check(&source, &options, true);
    assert!(count > 5000, "{count}");
}

#[test]
fn every_overload_of_opencl_c_1_2_is_emitted() {
    check_all(Version::V1_2);
}

#[test]
fn every_overload_of_opencl_c_3_1_is_emitted() {
    check_all(Version::V3_1);
}
