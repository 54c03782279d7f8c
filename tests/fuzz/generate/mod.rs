//! Random programs in OpenCL C: one kernel `t` with helper functions, whose result is completely specified.
//!
//! Each work-item reads `in` and images, owns 16 words of `mem`, 16 half-precision numbers of `halves` and a pixel of `canvas`,
//! and writes a mixture of all its variables to `out`. Work-items interact only where the order has no effect: at barriers, and
//! by commutative atomic functions. [`types`] spells types and literals, [`expr`] generates expressions, [`stmt`] statements,
//! [`memory`] uses of memory, [`patterns`] loops of real kernels, [`surface`] what concerns front ends.
//!
//! Undefined behaviour is avoided: signed arithmetic is done in unsigned types, divisors are small and positive, indices are
//! masked, shifts are defined by OpenCL C, and floating-point operations are exact and on numbers of moderate size. The driver's
//! interpreter checks that.

mod expr;
pub(crate) mod memory;
mod patterns;
mod stmt;
mod surface;
mod types;

use std::fmt::Write as _;

use types::{Elem, INTS, Ty, ULONG};

/// A program, and how it is launched.
pub(crate) struct Program {
    pub(crate) source: String,
    pub(crate) options: &'static str,
    pub(crate) launches: Vec<Launch>,
    /// Whether the result may depend on the driver, because it depends on how work-items are divided into sub-groups.
    pub(crate) own: bool,
    /// Whether the kernel has images as arguments.
    pub(crate) images: bool,
}

/// Sizes of a launch.
pub(crate) struct Launch {
    pub(crate) global: Vec<usize>,
    pub(crate) local: Vec<usize>,
    /// The kernel's argument of this name.
    pub(crate) n: u32,
}

/// Maximum number of work-items in a work-group.
pub(crate) const MOST_LOCAL: usize = 64;
/// Words of the input buffer.
pub(crate) const IN_WORDS: usize = 256;
/// Words of `mem`, and of `halves`, for each work-item.
pub(crate) const MEM_WORDS: usize = 16;
/// Words that are only changed by atomic functions.
pub(crate) const ATOMIC_WORDS: usize = 8;

/// What a variable is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Value(Ty),
    /// Of a power of two elements; a pointer to such an array too.
    Array {
        of: Ty,
        len: u32,
    },
    /// A structure, by its number.
    Record(usize),
    /// An array of a power of two structures.
    Records {
        record: usize,
        len: u32,
    },
}

#[derive(Clone, Debug)]
struct Var {
    name: String,
    kind: Kind,
    mutable: bool,
    /// All work-items of a group have the same value.
    uniform: bool,
}

/// A structure or a union.
#[derive(Clone)]
struct Record {
    is_union: bool,
    members: Vec<Member>,
}

#[derive(Clone)]
struct Member {
    name: String,
    kind: Kind,
}

/// A helper function without side effects.
#[derive(Clone)]
struct Function {
    name: String,
    result: Ty,
    params: Vec<Ty>,
}

/// A helper function that gets pointers: to an array, and to a structure if there is one.
#[derive(Clone)]
struct Procedure {
    name: String,
    space: &'static str,
    of: Ty,
    len: u32,
    record: Option<usize>,
}

struct Generator {
    rng: fastrand::Rng,
    /// OpenCL C 3.0 with its optional features, or 1.2.
    modern: bool,
    doubles: bool,
    barriers: bool,
    /// Functions of sub-groups, whose size the program chooses.
    sub_groups: bool,
    /// Arithmetic in half precision.
    halves: bool,
    images: bool,
    out: String,
    indent: usize,
    scopes: Vec<Vec<Var>>,
    records: Vec<Record>,
    functions: Vec<Function>,
    procedures: Vec<Procedure>,
    names: u32,
    /// Number of statements left.
    budget: u32,
    calls_left: u32,
    /// The loops around the place, and whether statements may `continue` or `break` them.
    flow: Vec<stmt::Enclosing>,
    /// Whether all work-items of the group execute this place together.
    together: bool,
    /// The type of the function's result; `None` in the kernel and in procedures.
    result: Option<Ty>,
    /// Only uniform variables may be read.
    only_uniform: bool,
    /// Local arrays that work-items exchange values in.
    exchanges: Vec<(String, Elem)>,
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut rng = fastrand::Rng::with_seed(seed);
    let modern = rng.bool();
    let doubles = rng.bool();
    let barriers = rng.u32(..3) != 0;
    let sub_groups = modern && barriers && rng.u32(..3) == 0;
    let (halves, images) = (rng.u32(..4) == 0, rng.u32(..3) == 0);
    let launches = launches(&mut rng, modern);
    let mut generator = Generator {
        rng,
        modern,
        doubles,
        barriers,
        sub_groups,
        halves,
        images,
        out: String::new(),
        indent: 0,
        scopes: Vec::new(),
        records: Vec::new(),
        functions: Vec::new(),
        procedures: Vec::new(),
        names: 0,
        budget: 0,
        calls_left: 0,
        flow: Vec::new(),
        together: true,
        result: None,
        only_uniform: false,
        exchanges: Vec::new(),
    };
    generator.program();
    let options = match (modern, generator.rng.u32(..4)) {
        (true, 0) => "-cl-std=CL3.0 -cl-opt-disable",
        (true, _) => "-cl-std=CL3.0",
        (false, 0) => "-cl-std=CL1.2 -cl-opt-disable",
        (false, _) => "-cl-std=CL1.2",
    };
    Program { source: generator.out, options, launches, own: sub_groups, images }
}

fn launches(rng: &mut fastrand::Rng, modern: bool) -> Vec<Launch> {
    (0..2)
        .map(|_| {
            let dimensions = rng.usize(1..4);
            if rng.u32(..4) == 0 {
                // Groups of one work-item, enough of them for packs of groups.
                let global = (0..dimensions).map(|d| rng.usize(1..[70, 4, 3][d])).collect();
                return Launch { global, local: vec![1; dimensions], n: rng.u32(..5) };
            }
            let mut local: Vec<usize> = (0..dimensions)
                .map(|d| if d == 0 { [1, 2, 3, 4, 5, 8, 13, 16, 32, 64][rng.usize(..10)] } else { rng.usize(1..4) })
                .collect();
            while local.iter().product::<usize>() > MOST_LOCAL {
                let largest = (0..dimensions).max_by_key(|&d| local[d]).unwrap_or(0);
                local[largest] = local[largest].div_ceil(2);
            }
            let uneven = modern && rng.u32(..3) == 0;
            let global = local
                .iter()
                .enumerate()
                .map(|(d, &size)| {
                    let groups = rng.usize(1..if d == 0 { 5 } else { 3 });
                    size * groups + if uneven { rng.usize(..size) } else { 0 }
                })
                .collect();
            Launch { global, local, n: rng.u32(..5) }
        })
        .collect()
}

impl Generator {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:width$}{}", "", text.as_ref(), width = 4 * self.indent);
    }

    /// `head {` .. `tail`, with variables of its own.
    fn block(&mut self, head: &str, tail: &str, body: impl FnOnce(&mut Self)) {
        self.line(format!("{head} {{").trim_start());
        self.indent += 1;
        self.scopes.push(Vec::new());
        body(self);
        self.scopes.pop();
        self.indent -= 1;
        self.line(tail);
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn declare(&mut self, name: &str, kind: Kind, mutable: bool, uniform: bool) {
        let var = Var { name: name.to_owned(), kind, mutable, uniform };
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(var);
        }
    }

    /// A variable that may be read here, those of inner scopes preferred.
    fn any_var(&mut self) -> Option<Var> {
        let only_uniform = self.only_uniform;
        self.choose(|var| !only_uniform || var.uniform)
    }

    fn choose(&mut self, fits: impl Fn(&Var) -> bool) -> Option<Var> {
        let vars: Vec<&Var> = self.scopes.iter().flatten().filter(|var| fits(var)).collect();
        if vars.is_empty() {
            return None;
        }
        let first = if self.rng.bool() { 0 } else { vars.len() * 2 / 3 };
        Some(vars[self.rng.usize(first..vars.len())].clone())
    }

    fn int(&mut self) -> Elem {
        INTS[self.rng.usize(..INTS.len())]
    }

    fn float(&mut self) -> Elem {
        if self.doubles && self.rng.u32(..3) == 0 { Elem::F64 } else { Elem::F32 }
    }

    fn lanes(&mut self) -> u32 {
        [1, 1, 1, 1, 2, 3, 4, 4, 8, 16][self.rng.usize(..10)]
    }

    fn ty(&mut self) -> Ty {
        let elem = if self.rng.u32(..4) == 0 { self.float() } else { self.int() };
        Ty { elem, lanes: self.lanes() }
    }

    /// A member of a structure variable that can be read or written as a value.
    fn member(&mut self, record: usize, path: &str) -> (String, Ty) {
        let members = &self.records[record].members;
        let member = members[self.rng.usize(..members.len())].clone();
        let path = format!("{path}.{}", member.name);
        match member.kind {
            Kind::Value(ty) => (path, ty),
            Kind::Array { of, len } => {
                let index = self.index(len, 0);
                (format!("{path}[{index}]"), of)
            }
            Kind::Record(inner) => self.member(inner, &path),
            Kind::Records { record, len } => {
                let index = self.index(len, 0);
                self.member(record, &format!("{path}[{index}]"))
            }
        }
    }

    fn program(&mut self) {
        self.prelude();
        self.surface_prelude();
        self.memory_prelude();
        self.pattern_prelude();
        for _ in 0..self.rng.usize(..4) {
            self.record();
        }
        self.surface_functions();
        let tables = self.rng.usize(..3);
        self.scopes.push(Vec::new());
        for _ in 0..tables {
            self.table();
        }
        for _ in 0..self.rng.usize(..4) {
            self.function();
        }
        for _ in 0..self.rng.usize(..3) {
            self.procedure();
        }
        self.kernel();
    }

    /// The common part of all programs.
    fn prelude(&mut self) {
        self.line("#pragma OPENCL FP_CONTRACT OFF");
        if self.doubles {
            self.line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable");
        }
        let floats: &[(&str, &str)] =
            if self.doubles { &[("float", "int"), ("double", "long")] } else { &[("float", "int")] };
        // Moderate numbers, without NaNs and negative zeros.
        for (float, _) in floats {
            for lanes in ["", "2", "3", "4", "8", "16"] {
                let ty = format!("{float}{lanes}");
                let one = format!("({ty})(1)");
                let bound = format!("({ty})(1.0e6f)");
                let body = if lanes.is_empty() {
                    format!("fabs(x) < {bound} ? x + 0 : 1")
                } else {
                    format!("fabs(x) < {bound} ? x + ({ty})(0) : {one}")
                };
                self.line(format!("{ty} s_{ty}({ty} x) {{ return {body}; }}"));
            }
        }
        self.line(
            "void mix1(private ulong *h, ulong x) { *h = rotate(*h ^ x, (ulong)13) * 0x9e3779b97f4a7c15ul + 1; }",
        );
    }

    /// A structure, or a union of members without padding.
    fn record(&mut self) {
        let is_union = self.rng.u32(..4) == 0;
        let mut members = Vec::new();
        if is_union {
            let bytes = [4, 8, 16][self.rng.usize(..3)];
            for i in 0..self.rng.usize(2..4) {
                let elem = self.int();
                let of = elem.bits() / 8;
                if of > bytes {
                    continue;
                }
                let lanes = bytes / of;
                let array = lanes > 1 && self.rng.bool();
                let kind = if array {
                    Kind::Array { of: Ty::scalar(elem), len: lanes }
                } else {
                    Kind::Value(Ty { elem, lanes })
                };
                members.push(Member { name: format!("m{i}"), kind });
            }
            if members.is_empty() {
                members.push(Member { name: "m".into(), kind: Kind::Value(Ty { elem: Elem::U8, lanes: bytes }) });
            }
        } else {
            for i in 0..self.rng.usize(1..6) {
                let kind = match self.rng.u32(..6) {
                    0 => Kind::Array { of: self.ty(), len: [2, 4, 8][self.rng.usize(..3)] },
                    1 if !self.records.is_empty() => Kind::Record(self.rng.usize(..self.records.len())),
                    _ => Kind::Value(self.ty()),
                };
                members.push(Member { name: format!("m{i}"), kind });
            }
        }
        let number = self.records.len();
        let packed = if !is_union && self.rng.u32(..6) == 0 { " __attribute__((packed))" } else { "" };
        let what = if is_union { "union" } else { "struct" };
        self.line(format!("typedef {what} {{"));
        for member in &members {
            let text = self.declarator(&member.name, member.kind);
            self.line(format!("    {text};"));
        }
        self.line(format!("}}{packed} R{number};"));
        self.records.push(Record { is_union, members });
    }

    /// A declaration's type and name.
    fn declarator(&self, name: &str, kind: Kind) -> String {
        match kind {
            Kind::Value(ty) => format!("{} {name}", ty.name()),
            Kind::Array { of, len } => format!("{} {name}[{len}]", of.name()),
            Kind::Record(record) => format!("R{record} {name}"),
            Kind::Records { record, len } => format!("R{record} {name}[{len}]"),
        }
    }

    /// A constant array.
    fn table(&mut self) {
        let (of, len) = (self.ty(), [4, 8, 16][self.rng.usize(..3)]);
        let values: Vec<String> = (0..len).map(|_| self.literal(of)).collect();
        let name = self.fresh("table");
        self.line(format!("constant {} {name}[{len}] = {{{}}};", of.name(), values.join(", ")));
        self.declare(&name, Kind::Array { of, len }, false, true);
    }

    /// How helper functions are declared: inlined or not.
    fn linkage(&mut self) -> &'static str {
        ["", "static ", "__attribute__((noinline)) ", "static __attribute__((noinline)) ", "inline "]
            [self.rng.usize(..5)]
    }

    fn function(&mut self) {
        let result = self.ty();
        let params: Vec<Ty> = (0..self.rng.usize(1..4)).map(|_| self.ty()).collect();
        let name = self.fresh("f");
        let list: Vec<String> = params.iter().enumerate().map(|(i, ty)| format!("{} a{i}", ty.name())).collect();
        let linkage = self.linkage();
        self.budget = self.rng.u32(1..9);
        self.calls_left = 2;
        self.result = Some(result);
        self.together = false;
        self.block(&format!("{linkage}{} {name}({})", result.name(), list.join(", ")), "}", |g| {
            for (i, &param) in params.iter().enumerate() {
                g.declare(&format!("a{i}"), Kind::Value(param), true, false);
            }
            g.statements(1);
            let value = g.assigned(result, 3);
            g.line(format!("return {value};"));
        });
        self.result = None;
        self.functions.push(Function { name, result, params });
    }

    /// A function that works on an array through a pointer.
    fn procedure(&mut self) {
        let generic = self.modern && self.rng.u32(..3) == 0;
        let space = if generic { "" } else { ["private ", "global "][self.rng.usize(..2)] };
        let (of, len) = if space == "private " { (self.ty(), 8) } else { (types::UINT, MEM_WORDS as u32) };
        let record = (!self.records.is_empty()).then(|| self.rng.usize(..self.records.len()));
        let name = self.fresh("p");
        // A kernel may call another one.
        let linkage =
            if space == "global " && record.is_none() && self.rng.bool() { "kernel " } else { self.linkage() };
        let second = record.map_or(String::new(), |record| format!(", private R{record} *r"));
        self.budget = self.rng.u32(1..9);
        self.calls_left = 2;
        self.together = false;
        self.block(&format!("{linkage}void {name}({space}{} *a, uint b{second})", of.name()), "}", |g| {
            g.declare("a", Kind::Array { of, len }, true, false);
            g.declare("b", Kind::Value(types::UINT), true, false);
            if let Some(record) = record {
                g.declare("(*r)", Kind::Record(record), true, false);
            }
            g.statements(1);
        });
        self.procedures.push(Procedure { name, space, of, len, record });
    }

    fn kernel(&mut self) {
        self.budget = self.rng.u32(10..60);
        self.calls_left = 8;
        self.together = true;
        let qualifier = if self.modern && self.rng.u32(..4) == 0 { " const" } else { "" };
        let size = if self.sub_groups {
            format!("__attribute__((intel_reqd_sub_group_size({}))) ", [4, 8, 16, 32][self.rng.usize(..4)])
        } else {
            String::new()
        };
        let images = if self.images {
            ", read_only image2d_t picture, read_only image2d_t field, write_only image2d_t canvas"
        } else {
            ""
        };
        let head = format!(
            "{size}kernel void t(global const ulong *{qualifier} in, global ulong *out, global uint *memory, global half *half_memory, \
             global uint *atoms, local uint *given, uint n, const Plain plain, const short3 odd{images})"
        );
        self.block(&head, "}", |g| {
            for line in [
                "const uint gx = get_global_id(0), gy = get_global_id(1), gz = get_global_id(2);",
                "const uint gid = (gz * get_global_size(1) + gy) * get_global_size(0) + gx;",
                "const uint lx = get_local_id(0), ly = get_local_id(1);",
                "const uint lid = (get_local_id(2) * get_local_size(1) + ly) * get_local_size(0) + lx;",
                "const uint items = get_local_size(0) * get_local_size(1) * get_local_size(2);",
                "const uint group = get_group_id(0), groups = get_num_groups(0);",
                "global uint *mem = memory + gid * 16;",
                "global half *halves = half_memory + gid * 16;",
                "local uint cells[8];",
                "ulong h = gid;",
            ] {
                g.line(line);
            }
            for name in ["gx", "gy", "gz", "gid", "lx", "ly", "lid"] {
                g.declare(name, Kind::Value(types::UINT), false, false);
            }
            for name in ["items", "group", "groups", "n"] {
                g.declare(name, Kind::Value(types::UINT), false, true);
            }
            g.declare("mem", Kind::Array { of: types::UINT, len: MEM_WORDS as u32 }, true, false);
            g.declare("in", Kind::Array { of: ULONG, len: IN_WORDS as u32 }, false, true);
            g.declare_values();
            if g.barriers {
                g.pattern_memory();
                // All local memory may be the kernel's own.
                let given = g.rng.bool();
                if given {
                    g.exchanges.push(("given".to_owned(), Elem::U32));
                }
                for _ in usize::from(given)..g.rng.usize(1..4) {
                    let elem = if g.rng.u32(..4) == 0 { g.float() } else { g.int() };
                    let name = g.fresh("local");
                    g.line(format!("local {} {name}[{MOST_LOCAL}];", elem.name()));
                    g.exchanges.push((name, elem));
                }
                g.line("if (lid == 0) for (int i = 0; i < 8; ++i) cells[i] = i % 2 ? 0 : 0xffffffff;");
                g.line("barrier(CLK_LOCAL_MEM_FENCE);");
            }
            for _ in 0..g.rng.usize(3..9) {
                g.declaration();
            }
            while g.budget > 0 {
                g.statements(0);
            }
            if g.barriers {
                g.line("barrier(CLK_LOCAL_MEM_FENCE);");
                g.line("for (int i = 0; i < 8; ++i) mix1(&h, cells[i]);");
            }
            g.mix_everything();
            g.line("out[gid] = h;");
        });
    }
}

/// A template with capital letters replaced that stand alone or begin a name. The texts are not searched for letters again:
/// they have names of macros.
fn fill(template: &str, texts: &[(char, &str)]) -> String {
    let mut out = String::new();
    let mut within = false;
    for letter in template.chars() {
        let found = (!within).then(|| texts.iter().find(|(replaced, _)| *replaced == letter)).flatten();
        match found {
            Some((_, text)) => out.push_str(text),
            None => out.push(letter),
        }
        within = letter.is_ascii_alphanumeric() || letter == '_';
    }
    out
}
