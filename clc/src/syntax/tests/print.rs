//! The syntax tree as text, for tests.

use crate::source::Interner;
use crate::syntax::ast::*;

struct Printer<'n> {
    names: &'n Interner,
    text: String,
}

/// A unit: items separated by blanks.
pub(super) fn unit(unit: &Unit, names: &Interner) -> String {
    let mut printer = Printer { names, text: String::new() };
    for (index, item) in unit.items.iter().enumerate() {
        if index > 0 {
            printer.put(" ");
        }
        match item {
            Item::Function(function) => {
                printer.declared(&function.specifiers, &function.declarator);
                printer.block(&function.body);
            }
            Item::Declaration(declaration) => printer.declaration(declaration),
            Item::StaticAssert(assert) => printer.form("assert", &[&assert.condition]),
            Item::Pragma(pragma, _) => printer.put(&format!("#{pragma:?}")),
        }
    }
    printer.text
}

fn binary(op: BinaryOp) -> &'static str {
    use BinaryOp as B;
    match op {
        B::Mul => "*",
        B::Div => "/",
        B::Rem => "%",
        B::Add => "+",
        B::Sub => "-",
        B::Shl => "<<",
        B::Shr => ">>",
        B::Less => "<",
        B::Greater => ">",
        B::LessEqual => "<=",
        B::GreaterEqual => ">=",
        B::Equal => "==",
        B::NotEqual => "!=",
        B::And => "&",
        B::Xor => "^",
        B::Or => "|",
        B::LogicalAnd => "&&",
        B::LogicalOr => "||",
    }
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn name(&mut self, name: Name) {
        self.put(self.names.text(name.symbol));
    }

    fn form(&mut self, head: &str, operands: &[&Expr]) {
        self.put(&format!("({head}"));
        for operand in operands {
            self.put(" ");
            self.expr(operand);
        }
        self.put(")");
    }

    fn declaration(&mut self, declaration: &Declaration) {
        if declaration.declarators.is_empty() {
            self.specifiers(&declaration.specifiers);
        }
        for (index, one) in declaration.declarators.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.declared(&declaration.specifiers, &one.declarator);
            if let Some(init) = &one.init {
                self.put(" = ");
                self.init(init);
            }
        }
        self.put(";");
    }

    fn init(&mut self, init: &Initializer) {
        match init {
            Initializer::Expr(expr) => self.expr(expr),
            Initializer::List(list) => self.list(list),
        }
    }

    fn list(&mut self, list: &InitList) {
        self.put("{");
        for (index, item) in list.items.iter().enumerate() {
            self.put(if index > 0 { ", " } else { "" });
            self.designators(&item.designators);
            self.put(if item.designators.is_empty() { "" } else { "=" });
            self.init(&item.value);
        }
        self.put("}");
    }

    fn designators(&mut self, designators: &[Designator]) {
        for designator in designators {
            match designator {
                Designator::Field(name) => {
                    self.put(".");
                    self.name(*name);
                }
                Designator::Index(first, last) => {
                    self.put("[");
                    self.expr(first);
                    if let Some(last) = last {
                        self.put("...");
                        self.expr(last);
                    }
                    self.put("]");
                }
            }
        }
    }

    /// `name: parts of specifiers`, the outermost part first.
    fn declared(&mut self, specifiers: &Specifiers, declarator: &Declarator) {
        if let Some(name) = declarator.name {
            self.name(name);
            self.put(": ");
        }
        self.attributes(&declarator.attributes);
        for part in declarator.parts.iter().rev() {
            match part {
                DeclaratorPart::Pointer(qualifiers, attributes) => {
                    self.qualifiers(qualifiers);
                    self.attributes(attributes);
                    self.put("* ");
                }
                DeclaratorPart::BlockPointer(qualifiers) => {
                    self.qualifiers(qualifiers);
                    self.put("^ ");
                }
                DeclaratorPart::Array { size, qualifiers, is_static, .. } => {
                    self.put(if *is_static { "[static " } else { "[" });
                    self.qualifiers(qualifiers);
                    if let Some(size) = size {
                        self.expr(size);
                    }
                    self.put("] ");
                }
                DeclaratorPart::Function(function) => {
                    self.put(if function.is_empty { "(?" } else { "(" });
                    for (index, parameter) in function.parameters.iter().enumerate() {
                        self.put(if index > 0 { ", " } else { "" });
                        self.declared(&parameter.specifiers, &parameter.declarator);
                    }
                    self.put(if function.is_variadic { "...) " } else { ") " });
                }
            }
        }
        self.specifiers(specifiers);
    }

    fn qualifiers(&mut self, qualifiers: &Qualifiers) {
        let Qualifiers { is_const, is_volatile, is_restrict, is_atomic, space, access } = qualifiers;
        for (on, text) in
            [(is_const, "const "), (is_volatile, "volatile "), (is_restrict, "restrict "), (is_atomic, "_Atomic ")]
        {
            self.put(if *on { text } else { "" });
        }
        if let Some((space, _)) = space {
            self.put(&format!("{space:?} ").to_lowercase());
        }
        if let Some((access, _)) = access {
            self.put(&format!("{access:?} ").to_lowercase());
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            self.put("@");
            self.name(attribute.name);
            if !attribute.arguments.is_empty() {
                self.put("(");
                for (index, argument) in attribute.arguments.iter().enumerate() {
                    self.put(if index > 0 { ", " } else { "" });
                    match argument {
                        AttributeArgument::Expr(expr) => self.expr(expr),
                        AttributeArgument::Type(ty) => self.type_name(ty),
                    }
                }
                self.put(")");
            }
            self.put(" ");
        }
    }

    fn specifiers(&mut self, specifiers: &Specifiers) {
        if !specifiers.storage.is_empty() {
            let names: Vec<String> = specifiers.storage.iter_names().map(|(name, _)| name.to_lowercase()).collect();
            self.put(&format!("{} ", names.join(" ")));
        }
        self.attributes(&specifiers.attributes);
        for of in &specifiers.alignas {
            self.put("alignas(");
            self.type_or_expr(of);
            self.put(") ");
        }
        self.qualifiers(&specifiers.qualifiers);
        self.put(if specifiers.is_pipe { "pipe " } else { "" });
        match &specifiers.ty {
            TypeSpecifier::Missing => self.put("?"),
            TypeSpecifier::Words(words) => {
                let words: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}").to_lowercase()).collect();
                self.put(&words.join(" "));
            }
            TypeSpecifier::Name(name) => self.name(*name),
            TypeSpecifier::Record(record) => self.record(record),
            TypeSpecifier::Enum(enumeration) => {
                self.put("enum ");
                self.attributes(&enumeration.attributes);
                if let Some(name) = enumeration.name {
                    self.name(name);
                }
                for (name, value) in enumeration.constants.iter().flatten() {
                    self.put(" ");
                    self.name(*name);
                    if let Some(value) = value {
                        self.put("=");
                        self.expr(value);
                    }
                }
            }
            TypeSpecifier::Typeof(of) => {
                self.put("typeof(");
                self.type_or_expr(of);
                self.put(")");
            }
            TypeSpecifier::Atomic(ty) => {
                self.put("atomic(");
                self.type_name(ty);
                self.put(")");
            }
            TypeSpecifier::Auto(_) => self.put("auto_type"),
        }
    }

    fn record(&mut self, record: &RecordSpecifier) {
        self.put(if record.is_union { "union " } else { "struct " });
        self.attributes(&record.attributes);
        if let Some(pack) = record.pack {
            self.put(&format!("pack{pack} "));
        }
        if let Some(name) = record.name {
            self.name(name);
        }
        let Some(members) = &record.members else { return };
        self.put("{");
        for member in members {
            match member {
                Member::StaticAssert(assert) => self.form("assert", &[&assert.condition]),
                Member::Fields { specifiers, declarators } if declarators.is_empty() => self.specifiers(specifiers),
                Member::Fields { specifiers, declarators } => {
                    for (index, (declarator, width)) in declarators.iter().enumerate() {
                        self.put(if index > 0 { ", " } else { "" });
                        self.declared(specifiers, declarator);
                        if let Some(width) = width {
                            self.put(":");
                            self.expr(width);
                        }
                    }
                }
            }
            self.put(";");
        }
        self.put("}");
    }

    fn type_or_expr(&mut self, of: &TypeOrExpr) {
        match of {
            TypeOrExpr::Type(ty) => self.type_name(ty),
            TypeOrExpr::Expr(expr) => self.expr(expr),
        }
    }

    fn type_name(&mut self, ty: &TypeName) {
        self.put("<");
        self.declared(&ty.specifiers, &ty.declarator);
        self.put(">");
    }

    fn block(&mut self, block: &Block) {
        self.put("{");
        for (index, stmt) in block.items.iter().enumerate() {
            self.put(if index > 0 { " " } else { "" });
            self.stmt(stmt);
        }
        self.put("}");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty => self.put(";"),
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Declaration(declaration) => self.declaration(declaration),
            StmtKind::StaticAssert(assert) => self.form("assert", &[&assert.condition]),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If(condition, then, other) => {
                self.head("if", condition);
                self.stmt(then);
                if let Some(other) = other {
                    self.put(" else ");
                    self.stmt(other);
                }
                self.put(")");
            }
            StmtKind::While(condition, body) => {
                self.head("while", condition);
                self.stmt(body);
                self.put(")");
            }
            StmtKind::DoWhile(body, condition) => {
                self.head("do", condition);
                self.stmt(body);
                self.put(")");
            }
            StmtKind::For(init, condition, step, body) => {
                self.put("(for ");
                if let Some(init) = init {
                    self.stmt(init);
                }
                for part in [condition, step] {
                    self.put(" | ");
                    if let Some(part) = part {
                        self.expr(part);
                    }
                }
                self.put(" ");
                self.stmt(body);
                self.put(")");
            }
            StmtKind::Switch(value, body) => {
                self.head("switch", value);
                self.stmt(body);
                self.put(")");
            }
            StmtKind::Case(first, last, inner) => {
                self.put("case ");
                self.expr(first);
                if let Some(last) = last {
                    self.put("...");
                    self.expr(last);
                }
                self.put(": ");
                self.stmt(inner);
            }
            StmtKind::Default(inner) => {
                self.put("default: ");
                self.stmt(inner);
            }
            StmtKind::Label(name, inner) => {
                self.name(*name);
                self.put(": ");
                self.stmt(inner);
            }
            StmtKind::Goto(name) => {
                self.put("goto ");
                self.name(*name);
            }
            StmtKind::Break => self.put("break"),
            StmtKind::Continue => self.put("continue"),
            StmtKind::Return(value) => {
                self.put("(return");
                if let Some(value) = value {
                    self.put(" ");
                    self.expr(value);
                }
                self.put(")");
            }
            StmtKind::Pragma(pragma) => self.put(&format!("#{pragma:?}")),
            StmtKind::Attributed(attributes, inner) => {
                self.attributes(attributes);
                self.stmt(inner);
            }
            StmtKind::Asm { is_empty } => self.put(if *is_empty { "asm-empty" } else { "asm" }),
        }
    }

    fn head(&mut self, head: &str, value: &Expr) {
        self.put(&format!("({head} "));
        self.expr(value);
        self.put(" ");
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(symbol) | ExprKind::Number(symbol) | ExprKind::Char(symbol) => {
                self.put(self.names.text(*symbol));
            }
            ExprKind::String(parts) => parts.iter().for_each(|part| self.name(*part)),
            ExprKind::FuncName => self.put("__func__"),
            ExprKind::Paren(inner) => self.form("paren", &[inner]),
            ExprKind::Index(base, index) => self.form("index", &[base, index]),
            ExprKind::Call(callee, arguments) => {
                let operands: Vec<&Expr> = std::iter::once(&**callee).chain(arguments).collect();
                self.form("call", &operands);
            }
            ExprKind::Member(base, name, arrow) => {
                let head = format!("{}{}", if *arrow { "->" } else { "." }, self.names.text(name.symbol));
                self.form(&head, &[base]);
            }
            ExprKind::Unary(op, operand) => self.form(&format!("{op:?}").to_lowercase(), &[operand]),
            ExprKind::Binary(op, left, right) => self.form(binary(*op), &[left, right]),
            ExprKind::Assign(op, left, right) => {
                self.form(&format!("{}=", op.map_or("", binary)), &[left, right]);
            }
            ExprKind::Conditional(condition, Some(then), other) => self.form("?", &[condition, then, other]),
            ExprKind::Conditional(condition, None, other) => self.form("?:", &[condition, other]),
            ExprKind::Comma(left, right) => self.form(",", &[left, right]),
            ExprKind::Cast(ty, operand) => {
                self.type_name(ty);
                self.expr(operand);
            }
            ExprKind::CastList(ty, list) => {
                self.type_name(ty);
                self.form("list", &list.iter().collect::<Vec<_>>());
            }
            ExprKind::CompoundLiteral(ty, list) => {
                self.type_name(ty);
                self.list(list);
            }
            ExprKind::Sizeof(of) => self.query("sizeof", of),
            ExprKind::Alignof(of) => self.query("alignof", of),
            ExprKind::VecStep(of) => self.query("vec_step", of),
            ExprKind::Statements(block) => self.block(block),
            ExprKind::Generic(control, associations) => {
                self.put("(generic ");
                self.expr(control);
                for (ty, value) in associations {
                    self.put(" ");
                    match ty {
                        Some(ty) => self.type_name(ty),
                        None => self.put("default"),
                    }
                    self.put(":");
                    self.expr(value);
                }
                self.put(")");
            }
            ExprKind::Block(ty, body) => {
                self.put("^");
                if let Some(ty) = ty {
                    self.type_name(ty);
                }
                self.block(body);
            }
            ExprKind::Offsetof(ty, designators) => {
                self.put("offsetof");
                self.type_name(ty);
                self.designators(designators);
            }
            ExprKind::TypesCompatible(left, right) => {
                self.put("compatible");
                self.type_name(left);
                self.type_name(right);
            }
            ExprKind::ChooseExpr(condition, then, other) => self.form("choose", &[condition, then, other]),
            ExprKind::Astype(value, ty) => {
                self.put("as");
                self.type_name(ty);
                self.expr(value);
            }
            ExprKind::ConvertVector(value, ty) => {
                self.put("convert");
                self.type_name(ty);
                self.expr(value);
            }
            ExprKind::ShuffleVector(list) => self.form("shuffle", &list.iter().collect::<Vec<_>>()),
            ExprKind::LabelAddress(name) => {
                self.put("&&");
                self.name(*name);
            }
            ExprKind::Error => self.put("error"),
        }
    }

    fn query(&mut self, head: &str, of: &TypeOrExpr) {
        self.put(&format!("({head} "));
        self.type_or_expr(of);
        self.put(")");
    }
}
