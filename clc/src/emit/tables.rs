//! Tables: long `const` arrays of functions whose initializer is constant. They are objects in constant memory rather than
//! copies in private memory, and an element that is known is a constant, unless something takes the address of the array. Short
//! arrays are variables: where loops over them are unrolled, the kernel compiler promotes them, but does not read constant
//! memory.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use super::Id;
use super::constants::MAX_ELEMENTS;
use super::function::FunctionEmitter;
use super::places::Storage;
use crate::tree::{Constant, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::types::{Ty, TypeKind};

/// Elements of an array that is not a table.
const SHORT: u64 = 32;

/// What is known of a function's tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The arrays whose address something takes. Found when the function has a table.
    escaped: Option<Rc<FxHashSet<LocalId>>>,
    contents: FxHashMap<LocalId, Table>,
}

#[derive(Debug)]
struct Table {
    ty: Ty,
    constant: Constant,
    /// The object, if it was used.
    pointer: Option<Id>,
}

impl FunctionEmitter<'_, '_> {
    /// Makes a table of a variable that is initialized, if it can be one.
    pub(super) fn make_table(&mut self, local: LocalId, ty: Ty, value: &Expr) -> bool {
        let ExprKind::Constant(constant @ (Constant::Aggregate(_) | Constant::Bytes(_))) = &value.kind else {
            return false;
        };
        let TypeKind::Array(element, Some(count)) = self.module.source.types.kind(ty) else { return false };
        let mut elements = *count;
        let mut innermost = element;
        while let TypeKind::Array(inner, Some(count)) = self.module.source.types.kind(innermost.ty) {
            (elements, innermost) = (elements.saturating_mul(*count), inner);
        }
        let is_long = elements > SHORT && *count <= MAX_ELEMENTS as u64;
        let Some(declared) = self.function.locals.get(local.0 as usize) else { return false };
        let (quals, own) = (declared.ty.quals, declared.align);
        let is_const = quals.is_const || innermost.quals.is_const;
        let is_fixed = is_long && is_const && !quals.is_volatile && !innermost.quals.is_volatile;
        if !is_fixed || own > self.natural_align(ty) || self.escapes(local) {
            return false;
        }
        if let Some(storage) = self.locals.get_mut(local.0 as usize) {
            *storage = Storage::Table;
        }
        self.tables.contents.insert(local, Table { ty, constant: constant.clone(), pointer: None });
        true
    }

    /// The pointer to a table. Equal ones are one.
    pub(super) fn table(&mut self, local: LocalId) -> Id {
        let Some(table) = self.tables.contents.get_mut(&local) else { return 0 };
        if let Some(pointer) = table.pointer {
            return pointer;
        }
        let init = self.module.memory_constant(table.ty, &table.constant);
        let memory_type = self.module.memory_type_id(table.ty);
        let class = StorageClass::UniformConstant;
        let ty = self.module.pointer_type(class, memory_type);
        let pointer = self.module.unique(Op::Variable, ty, &[class as u32, init]);
        table.pointer = Some(pointer);
        pointer
    }

    /// The value of a place, if it is a known element of a table.
    pub(super) fn table_element(&mut self, place: &Place, ty: Ty) -> Option<Id> {
        if self.tables.contents.is_empty() || self.module.source.types.lanes(ty).is_none() {
            return None;
        }
        let constant = self.known(place)?;
        if !matches!(constant, Constant::Zero | Constant::Scalar(_) | Constant::Vector(_)) {
            return None;
        }
        let constant = constant.clone();
        Some(self.module.constant(ty, &constant))
    }

    fn known(&self, place: &Place) -> Option<&Constant> {
        if let PlaceKind::Local(local) = &place.kind {
            return self.tables.contents.get(local).map(|table| &table.constant);
        }
        let PlaceKind::Index(array, index) = &place.kind else { return None };
        let ExprKind::Constant(Constant::Scalar(index)) = index.kind else { return None };
        let Constant::Aggregate(parts) = self.known(array)? else { return None };
        parts.get(usize::try_from(index).ok()?)
    }

    fn escapes(&mut self, local: LocalId) -> bool {
        let function = self.function;
        let escaped = self.tables.escaped.get_or_insert_with(|| {
            let mut found = Escaped::default();
            found.statements(function.body.as_deref().unwrap_or(&[]));
            Rc::new(found.locals)
        });
        escaped.contains(&local)
    }
}

/// Variables whose address something takes.
#[derive(Default)]
struct Escaped {
    locals: FxHashSet<LocalId>,
}

impl Escaped {
    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Block(body) => self.statements(body),
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StmtKind::Loop { init, condition, step, body, tests_first: _, hints: _ } => {
                self.statements(init);
                self.statements(body);
                condition.iter().chain(step).for_each(|expr| self.expr(expr));
            }
            StmtKind::Switch { value, body, cases: _, default: _ } => {
                self.expr(value);
                self.statements(body);
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::Declare(_)
            | StmtKind::Label(_)
            | StmtKind::Goto(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::FpContract(_) => {}
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Constant(_) => {}
            ExprKind::Load(place) => self.place(place),
            ExprKind::AddressOf(place) => {
                let mut root = &**place;
                while let PlaceKind::Index(inner, _)
                | PlaceKind::Field(inner, _)
                | PlaceKind::Lanes(inner, _)
                | PlaceKind::Lane(inner, _) = &root.kind
                {
                    root = inner;
                }
                if let PlaceKind::Local(local) | PlaceKind::Temporary(local, _) = root.kind {
                    self.locals.insert(local);
                }
                self.place(place);
            }
            ExprKind::Unary(_, operand) | ExprKind::Convert(_, operand) | ExprKind::Swizzle(operand, _) => {
                self.expr(operand);
            }
            ExprKind::Field(operand, _) => self.expr(operand),
            ExprKind::Binary(_, left, right)
            | ExprKind::Compare(_, left, right)
            | ExprKind::LogicalAnd(left, right)
            | ExprKind::LogicalOr(left, right)
            | ExprKind::PointerAdd(left, right)
            | ExprKind::PointerDiff(left, right, _)
            | ExprKind::Shuffle(left, right, _)
            | ExprKind::Comma(left, right) => self.exprs([&**left, &**right]),
            ExprKind::Conditional(condition, left, right) | ExprKind::Select(condition, left, right) => {
                self.exprs([&**condition, &**left, &**right]);
            }
            ExprKind::Assign(place, value)
            | ExprKind::Init(place, value)
            | ExprKind::PointerAssign(place, value)
            | ExprKind::CompoundAssign { place, value, op: _, computed: _ } => {
                self.place(place);
                self.expr(value);
            }
            ExprKind::Increment { place, post: _, decrement: _ } => self.place(place),
            ExprKind::Call(_, arguments) | ExprKind::Builtin(_, arguments) | ExprKind::Vector(arguments) => {
                self.exprs(arguments);
            }
            ExprKind::Aggregate(members) => self.exprs(members.iter().map(|(_, value)| value)),
            ExprKind::Statements(statements, value) => {
                self.statements(statements);
                value.iter().for_each(|value| self.expr(value));
            }
            ExprKind::Block(literal) => self.exprs(&literal.values),
            ExprKind::BlockCall(block, arguments) => {
                self.expr(block);
                self.exprs(arguments);
            }
        }
    }

    fn place(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(_) | PlaceKind::Global(_) => {}
            PlaceKind::Deref(pointer) => self.expr(pointer),
            PlaceKind::Index(inner, index) | PlaceKind::Lane(inner, index) => {
                self.place(inner);
                self.expr(index);
            }
            PlaceKind::Field(inner, _) | PlaceKind::Lanes(inner, _) => self.place(inner),
            PlaceKind::Temporary(_, value) => self.expr(value),
        }
    }
}
