//! The typed tree as text: compact S-expressions, for tests and for people.

use std::fmt::Write;

use super::{
    AddressBase, Constant, Conversion, Expr, ExprKind, Function, FunctionId, GlobalId, Linkage, LocalId, Module, Place,
    PlaceKind, Stmt, StmtKind,
};
use crate::source::Interner;
use crate::types::{Access, AddressSpace, ImageShape, QualTy, Scalar, Ty, TypeKind};

/// A module as text.
pub fn print(module: &Module, names: &Interner) -> String {
    let mut printer = Printer { module, names, function: None, text: String::new(), indent: 0 };
    for (index, _) in module.globals.iter().enumerate() {
        printer.global(GlobalId(index as u32));
    }
    for function in &module.functions {
        printer.function(function);
    }
    printer.text
}

/// The state of printing.
struct Printer<'a> {
    module: &'a Module,
    names: &'a Interner,
    function: Option<&'a Function>,
    text: String,
    indent: usize,
}

/// An address space as a word.
fn space(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Private => "",
        AddressSpace::Global => "global ",
        AddressSpace::Constant => "constant ",
        AddressSpace::Local => "local ",
        AddressSpace::Generic => "generic ",
    }
}

impl<'a> Printer<'a> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
    }

    fn global(&mut self, id: GlobalId) {
        let Some(global) = self.module.globals.get(id.0 as usize) else { return };
        let linkage = linkage(global.linkage);
        let name = self.global_name(id);
        let ty = self.qualified(global.ty);
        let declared = if global.is_defined { "" } else { "extern " };
        let _ = write!(self.text, "({linkage}{declared}global {name} {ty}");
        if global.align != 0 {
            let _ = write!(self.text, " align {}", global.align);
        }
        if let Some(init) = &global.init {
            self.push(" ");
            self.constant(init, global.ty.ty);
        }
        self.push(")\n");
    }

    fn global_name(&self, id: GlobalId) -> String {
        match self.module.globals.get(id.0 as usize) {
            Some(global) if !global.name.is_empty() => format!("@{}", global.name),
            _ => format!("@{}", id.0),
        }
    }

    fn function_name(&self, id: FunctionId) -> String {
        let function = self.module.functions.get(id.0 as usize);
        function.map_or_else(|| format!("@f{}", id.0), |function| format!("@{}", function.link_name))
    }

    fn local_name(&self, id: LocalId) -> String {
        let local = self.function.and_then(|function| function.locals.get(id.0 as usize));
        match local.and_then(|local| local.name) {
            Some(name) => {
                let same = self.function.map_or(0, |function| {
                    function.locals.iter().take(id.0 as usize).filter(|one| one.name == Some(name)).count()
                });
                let number = if same == 0 { String::new() } else { format!(".{same}") };
                format!("%{}{number}", self.names.text(name))
            }
            None => format!("%{}", id.0),
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.function = Some(function);
        let word = if function.kernel.is_some() { "kernel" } else { "function" };
        let result = self.ty(function.result);
        let linkage = linkage(function.linkage);
        let _ = write!(self.text, "({linkage}{word} @{} {result} (", function.link_name);
        for index in 0..function.parameters {
            let blank = if index == 0 { "" } else { " " };
            let name = self.local_name(LocalId(index));
            let ty = function.locals.get(index as usize).map_or_else(String::new, |local| self.qualified(local.ty));
            let _ = write!(self.text, "{blank}({name} {ty})");
        }
        self.push(")");
        if let Some(kernel) = &function.kernel {
            if !kernel.attributes.is_empty() {
                let _ = write!(self.text, " (attributes {})", kernel.attributes);
            }
            for argument in &kernel.arguments {
                let _ = write!(self.text, " (argument {} {}", argument.type_name, argument.type_qualifiers);
                let _ = match argument.access {
                    Some(access) => write!(self.text, " {access:?})"),
                    None => write!(self.text, " {:?})", argument.address),
                };
            }
        }
        if let Some(body) = &function.body {
            self.statements(body);
        }
        self.push(")\n");
        self.function = None;
    }

    fn statements(&mut self, list: &[Stmt]) {
        self.indent += 1;
        for statement in list {
            self.line();
            self.statement(statement);
        }
        self.indent -= 1;
    }

    fn group(&mut self, word: &str, list: &[Stmt]) {
        self.line();
        self.push("(");
        self.push(word);
        self.statements(list);
        self.push(")");
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Declare(local) => {
                let ty = self.function.and_then(|function| function.locals.get(local.0 as usize));
                let ty = ty.map_or_else(String::new, |local| self.qualified(local.ty));
                let name = self.local_name(*local);
                let _ = write!(self.text, "(declare {name} {ty})");
            }
            StmtKind::Block(list) => {
                self.push("(block");
                self.statements(list);
                self.push(")");
            }
            StmtKind::If(condition, then, otherwise) => {
                self.push("(if ");
                self.expr(condition);
                self.indent += 1;
                self.group("then", then);
                if !otherwise.is_empty() {
                    self.group("else", otherwise);
                }
                self.indent -= 1;
                self.push(")");
            }
            StmtKind::Loop { init, condition, tests_first, step, body, hints } => {
                self.push(if *tests_first { "(loop" } else { "(do" });
                if let Some(unroll) = hints.unroll {
                    let _ = write!(self.text, " unroll {unroll}");
                }
                self.indent += 1;
                if !init.is_empty() {
                    self.group("init", init);
                }
                for (word, part) in [("while", condition), ("step", step)] {
                    if let Some(part) = part {
                        self.line();
                        let _ = write!(self.text, "({word} ");
                        self.expr(part);
                        self.push(")");
                    }
                }
                self.group("body", body);
                self.indent -= 1;
                self.push(")");
            }
            StmtKind::Switch { value, cases, default, body } => {
                self.push("(switch ");
                self.expr(value);
                for (first, last, label) in cases {
                    let _ = match first == last {
                        true => write!(self.text, " ({first} L{})", label.0),
                        false => write!(self.text, " ({first}..{last} L{})", label.0),
                    };
                }
                if let Some(label) = default {
                    let _ = write!(self.text, " (default L{})", label.0);
                }
                self.statements(body);
                self.push(")");
            }
            StmtKind::Label(label) => {
                let _ = write!(self.text, "(label L{})", label.0);
            }
            StmtKind::Goto(label) => {
                let _ = write!(self.text, "(goto L{})", label.0);
            }
            StmtKind::Break => self.push("(break)"),
            StmtKind::Continue => self.push("(continue)"),
            StmtKind::Return(None) => self.push("(return)"),
            StmtKind::Return(Some(value)) => {
                self.push("(return ");
                self.expr(value);
                self.push(")");
            }
            StmtKind::FpContract(on) => {
                let _ = write!(self.text, "(contract {on})");
            }
        }
    }

    /// `(word a b ...)`
    fn call(&mut self, word: &str, operands: &[&Expr]) {
        self.push("(");
        self.push(word);
        for operand in operands {
            self.push(" ");
            self.expr(operand);
        }
        self.push(")");
    }

    fn list(&mut self, word: &str, operands: &[Expr]) {
        let operands: Vec<&Expr> = operands.iter().collect();
        self.call(word, &operands);
    }

    /// `(word place value)`
    fn store(&mut self, word: &str, place: &Place, value: &Expr) {
        let _ = write!(self.text, "({word} ");
        self.place(place);
        self.push(" ");
        self.expr(value);
        self.push(")");
    }

    fn expr(&mut self, expr: &Expr) {
        let ty = self.ty(expr.ty);
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let _ = write!(self.text, "{ty}:");
                self.constant(constant, expr.ty);
            }
            ExprKind::Load(place) => {
                self.push("(load ");
                self.place(place);
                self.push(")");
            }
            ExprKind::AddressOf(place) => {
                self.push("(address ");
                self.place(place);
                self.push(")");
            }
            ExprKind::Unary(op, a) => self.call(&format!("{op:?}").to_lowercase(), &[a]),
            ExprKind::Binary(op, a, b) => self.call(&format!("{op:?}").to_lowercase(), &[a, b]),
            ExprKind::Compare(op, a, b) => self.call(&format!("{op:?}").to_lowercase(), &[a, b]),
            ExprKind::LogicalAnd(a, b) => self.call("and-then", &[a, b]),
            ExprKind::LogicalOr(a, b) => self.call("or-else", &[a, b]),
            ExprKind::PointerAdd(a, b) => self.call("pointer-add", &[a, b]),
            ExprKind::PointerDiff(a, b, size) => self.call(&format!("pointer-diff {size}"), &[a, b]),
            ExprKind::Conditional(c, a, b) => self.call("cond", &[c, a, b]),
            ExprKind::Select(c, a, b) => self.call("select", &[c, a, b]),
            ExprKind::Assign(place, value) => self.store("assign", place, value),
            ExprKind::Init(place, value) => self.store("init", place, value),
            ExprKind::CompoundAssign { place, op, computed, value } => {
                let computed = self.ty(*computed);
                self.store(&format!("{}-assign {computed}", format!("{op:?}").to_lowercase()), place, value);
            }
            ExprKind::PointerAssign(place, value) => self.store("pointer-assign", place, value),
            ExprKind::Increment { place, post, decrement } => {
                let when = if *post { "post" } else { "pre" };
                let what = if *decrement { "decrement" } else { "increment" };
                let _ = write!(self.text, "({when}-{what} ");
                self.place(place);
                self.push(")");
            }
            ExprKind::Convert(conversion, value) => {
                let word = match conversion {
                    Conversion::Arithmetic => "to",
                    Conversion::Splat => "splat",
                    Conversion::Pointer => "pointer-to",
                    Conversion::AddressSpace => "space-to",
                    Conversion::PointerToInteger => "pointer-to-integer",
                    Conversion::IntegerToPointer => "integer-to-pointer",
                    Conversion::PointerToBool => "is-not-null",
                    Conversion::Bits => "bits",
                    Conversion::Discard => "discard",
                    Conversion::Sampler => "sampler",
                };
                self.call(&format!("{word} {ty}"), &[value]);
            }
            ExprKind::Call(function, arguments) => {
                let name = self.function_name(*function);
                self.list(&format!("call {name}"), arguments);
            }
            ExprKind::Builtin(lowering, arguments) => self.list(&format!("builtin {ty} {lowering:?}"), arguments),
            ExprKind::Vector(parts) => self.list(&format!("vector {ty}"), parts),
            ExprKind::Swizzle(of, lanes) => self.call(&format!("swizzle {lanes:?}"), &[of]),
            ExprKind::Shuffle(a, b, lanes) => self.call(&format!("shuffle {lanes:?}"), &[a, b]),
            ExprKind::Field(of, index) => self.call(&format!("field {index}"), &[of]),
            ExprKind::Aggregate(members) => {
                let _ = write!(self.text, "(aggregate {ty}");
                for (index, member) in members {
                    let _ = write!(self.text, " {index}=");
                    self.expr(member);
                }
                self.push(")");
            }
            ExprKind::Comma(a, b) => self.call("comma", &[a, b]),
            ExprKind::Statements(list, value) => {
                self.push("(statements");
                self.statements(list);
                if let Some(value) = value {
                    self.indent += 1;
                    self.line();
                    self.expr(value);
                    self.indent -= 1;
                }
                self.push(")");
            }
            ExprKind::Block(block) => {
                let name = self.function_name(block.function);
                self.list(&format!("block-literal {name}"), &block.values);
            }
            ExprKind::BlockCall(block, arguments) => {
                let mut operands: Vec<&Expr> = vec![block];
                operands.extend(arguments);
                self.call("block-call", &operands);
            }
        }
    }

    fn place(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(local) => {
                let name = self.local_name(*local);
                self.push(&name);
            }
            PlaceKind::Global(global) => {
                let name = self.global_name(*global);
                self.push(&name);
            }
            PlaceKind::Deref(pointer) => {
                self.push("(deref ");
                self.expr(pointer);
                self.push(")");
            }
            PlaceKind::Index(array, index) => {
                self.push("(index ");
                self.place(array);
                self.push(" ");
                self.expr(index);
                self.push(")");
            }
            PlaceKind::Field(record, index) => {
                let _ = write!(self.text, "(field {index} ");
                self.place(record);
                self.push(")");
            }
            PlaceKind::Lanes(vector, lanes) => {
                let _ = write!(self.text, "(lanes {lanes:?} ");
                self.place(vector);
                self.push(")");
            }
            PlaceKind::Lane(vector, index) => {
                self.push("(lane ");
                self.place(vector);
                self.push(" ");
                self.expr(index);
                self.push(")");
            }
            PlaceKind::Temporary(local, value) => {
                let name = self.local_name(*local);
                let _ = write!(self.text, "(temporary {name} ");
                self.expr(value);
                self.push(")");
            }
        }
    }

    fn constant(&mut self, constant: &Constant, ty: Ty) {
        let _ = match constant {
            Constant::Zero => write!(self.text, "0"),
            Constant::Undefined => write!(self.text, "undefined"),
            Constant::Scalar(bits) => {
                let text = self.scalar(*bits, self.module.types.lanes(ty).map(|(scalar, _)| scalar));
                write!(self.text, "{text}")
            }
            Constant::Vector(lanes) => {
                let scalar = self.module.types.lanes(ty).map(|(scalar, _)| scalar);
                let lanes: Vec<String> = lanes.iter().map(|bits| self.scalar(*bits, scalar)).collect();
                write!(self.text, "<{}>", lanes.join(" "))
            }
            Constant::Bytes(bytes) => write!(self.text, "{:?}", String::from_utf8_lossy(bytes)),
            Constant::Aggregate(members) => {
                self.push("{");
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        self.push(" ");
                    }
                    let own = self.member(ty, index);
                    self.constant(member, own);
                }
                write!(self.text, "}}")
            }
            Constant::Union(index, value) => {
                let _ = write!(self.text, "{{.{index}=");
                let own = self.member(ty, *index as usize);
                self.constant(value, own);
                write!(self.text, "}}")
            }
            Constant::Address(address) => {
                let base = match address.base {
                    AddressBase::Global(id) => self.global_name(id),
                    AddressBase::Function(id) => self.function_name(id),
                    AddressBase::Absolute => "0".to_owned(),
                };
                write!(self.text, "&{base}{:+}", address.offset)
            }
        };
    }

    fn member(&self, ty: Ty, index: usize) -> Ty {
        self.module.types.member(ty, index as u32).map_or(ty, |member| member.ty)
    }

    fn scalar(&self, bits: u64, scalar: Option<Scalar>) -> String {
        match scalar {
            Some(Scalar::Char) => format!("{}", bits as u8 as i8),
            Some(Scalar::Short) => format!("{}", bits as u16 as i16),
            Some(Scalar::Int) => format!("{}", bits as u32 as i32),
            Some(Scalar::Long) => format!("{}", bits as i64),
            Some(Scalar::Half) => format!("{:?}", half::f16::from_bits(bits as u16).to_f32()),
            Some(Scalar::Float) => format!("{:?}", f32::from_bits(bits as u32)),
            Some(Scalar::Double) => format!("{:?}", f64::from_bits(bits)),
            Some(Scalar::Bool | Scalar::UChar | Scalar::UShort | Scalar::UInt | Scalar::ULong) | None => {
                bits.to_string()
            }
        }
    }

    fn qualified(&self, ty: QualTy) -> String {
        let mut text = String::new();
        for (is, word) in
            [(ty.quals.is_const, "const "), (ty.quals.is_volatile, "volatile "), (ty.quals.is_restrict, "restrict ")]
        {
            if is {
                text.push_str(word);
            }
        }
        text.push_str(space(ty.quals.space));
        text + &self.ty(ty.ty)
    }

    fn ty(&self, ty: Ty) -> String {
        let types = &self.module.types;
        let image = |shape: ImageShape| ImageShape::NAMES.iter().find(|(one, _)| *one == shape).map_or("", |one| one.1);
        let access = |access: Access| match access {
            Access::ReadOnly => "ro",
            Access::WriteOnly => "wo",
            Access::ReadWrite => "rw",
        };
        match types.kind(ty) {
            TypeKind::Error => "error".to_owned(),
            TypeKind::Void => "void".to_owned(),
            TypeKind::Scalar(scalar) => scalar.name().to_owned(),
            TypeKind::Vector(scalar, lanes) => format!("{}{lanes}", scalar.name()),
            TypeKind::Pointer(to) => format!("*{}", self.qualified(*to)),
            TypeKind::FunctionPointer(to) => format!("*{}", self.ty(*to)),
            TypeKind::BlockPointer(to) => format!("^{}", self.ty(*to)),
            TypeKind::Array(element, Some(count)) => format!("[{count}]{}", self.qualified(*element)),
            TypeKind::Array(element, None) => format!("[]{}", self.qualified(*element)),
            TypeKind::Function(function) => {
                let list: Vec<String> = function.parameters.iter().map(|one| self.qualified(*one)).collect();
                format!("({})->{}", list.join(","), self.ty(function.result))
            }
            TypeKind::Record(id) => {
                let name =
                    types.record(*id).name.map_or_else(|| id.0.to_string(), |name| self.names.text(name).to_owned());
                format!("{}.{name}", if types.record(*id).is_union { "union" } else { "struct" })
            }
            TypeKind::Enum(id) => {
                let name = types.enumeration(*id).name;
                format!("enum.{}", name.map_or_else(|| id.0.to_string(), |name| self.names.text(name).to_owned()))
            }
            TypeKind::Atomic(of) => format!("atomic.{}", self.ty(*of)),
            TypeKind::Image(shape, how) => format!("{}.{}", image(*shape), access(*how)),
            TypeKind::Pipe(of, how) => format!("pipe.{}.{}", access(*how), self.ty(*of)),
            TypeKind::Sampler => "sampler".to_owned(),
            TypeKind::Event => "event".to_owned(),
            TypeKind::ClkEvent => "clk_event".to_owned(),
            TypeKind::Queue => "queue".to_owned(),
            TypeKind::NdRange => "ndrange".to_owned(),
            TypeKind::ReserveId => "reserve_id".to_owned(),
            TypeKind::NamedBarrier => "named_barrier".to_owned(),
        }
    }
}

/// Linkage as a word.
fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "internal ",
        Linkage::External => "",
        Linkage::LinkOnce => "linkonce ",
    }
}
