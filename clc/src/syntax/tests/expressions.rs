//! Expressions.

use super::{diagnostics, expression};

#[test]
fn operators_bind_as_in_c() {
    let rows = [
        ("a + b * c - 1", "(- (+ a (* b c)) 1)"),
        ("a << 1 + 2 < b == c", "(== (< (<< a (+ 1 2)) b) c)"),
        ("a & b ^ c | 1 && 2 || 3", "(|| (&& (| (^ (& a b) c) 1) 2) 3)"),
        ("a = b = c", "(= a (= b c))"),
        ("a += b -= c", "(+= a (-= b c))"),
        ("a ? b : c ? 1 : 2", "(? a b (? c 1 2))"),
        ("a ? b ? 1 : 2 : c", "(? a (? b 1 2) c)"),
        ("a ?: b", "(?: a b)"),
        ("-a + !b * ~c", "(+ (minus a) (* (logicalnot b) (not c)))"),
        ("*p++", "(deref (postincrement p))"),
        ("&a[1].b->c", "(addressof (->c (.b (index a 1))))"),
        ("- - +a", "(minus (minus (plus a)))"),
        ("--a--", "(predecrement (postdecrement a))"),
        ("f(a, b)(c)", "(call (call f a b) c)"),
        ("f((a, b))", "(call f (paren (, a b)))"),
        ("\"a\" \"b\"", "\"a\"\"b\""),
        ("&&label", "&&label"),
        ("__extension__ a", "a"),
        ("__func__", "__func__"),
    ];
    for (text, tree) in rows {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn types_in_expressions() {
    let rows = [
        ("(T)a", "<T>a"),
        ("(a)-b", "(- (paren a) b)"),
        ("(T)-b", "<T>(minus b)"),
        ("(global T *)p + 1", "(+ <* global T>p 1)"),
        ("(float4)(a, b)", "<float4>(list a b)"),
        ("(float4)(a, b).x", "(.x <float4>(list a b))"),
        ("(float4)(a).x", "(.x <float4>(paren a))"),
        ("(V)(a, b).xy[c]", "(index (.xy <V>(list a b)) c)"),
        ("-(const V)(a)[b]", "(minus (index <const V>(paren a) b))"),
        ("(__typeof__(V))(a, b).x", "(.x <typeof(<V>)>(list a b))"),
        ("(T)(a, b).x", "<T>(.x (paren (, a b)))"),
        ("(V *)(a)[b]", "<* V>(index (paren a) b)"),
        ("(float4)(a)", "<float4>(paren a)"),
        ("(float4)((float2)(a, b), c)", "<float4>(list <float2>(list a b) c)"),
        ("(T)(T)a", "<T><T>a"),
        ("(T)({ a; })", "<T>{a}"),
        ("(float4){a, b}.x", "(.x <float4>{a, b})"),
        ("(int[]){1, 2}[a]", "(index <[] int>{1, 2} a)"),
        ("sizeof(T) * a", "(* (sizeof <T>) a)"),
        ("sizeof(a) * a", "(* (sizeof (paren a)) a)"),
        ("sizeof a[1]", "(sizeof (index a 1))"),
        ("sizeof(a)[1]", "(sizeof (index (paren a) 1))"),
        ("sizeof (T){1}", "(sizeof <T>{1})"),
        ("sizeof(int (*)[3])", "(sizeof <* [3] int>)"),
        ("_Alignof(float4)", "(alignof <float4>)"),
        ("vec_step(float3) + vec_step a", "(+ (vec_step <float3>) (vec_step a))"),
        ("__builtin_astype(a, T)", "as<T>a"),
        ("__builtin_convertvector(a, T)", "convert<T>a"),
        ("__builtin_shufflevector(a, b, 0, 1)", "(shuffle a b 0 1)"),
        ("__builtin_offsetof(struct s, a.b[1])", "offsetof<struct s>.a.b[1]"),
        ("__builtin_types_compatible_p(int, T)", "compatible<int><T>"),
        ("__builtin_choose_expr(1, a, b)", "(choose 1 a b)"),
        ("_Generic(a, int: b, T *: c, default: 1)", "(generic a <int>:b <* T>:c default:1)"),
    ];
    for (text, tree) in rows {
        assert_eq!(expression(text), tree, "{text}");
    }
    assert_eq!(expression("(typeof(a))b"), "<typeof((paren a))>b");
    assert_eq!(expression("({ int a = 1; a; })"), "{a: int = 1; a}");
}

#[test]
fn blocks() {
    assert_eq!(expression("^{ return; }"), "^{(return)}");
    assert_eq!(expression("^(int T) { return T + 1; }"), "^<(T: int) ?>{(return (+ T 1))}");
    assert_eq!(expression("^int(void) { return 1; }"), "^<() int>{(return 1)}");
    assert_eq!(expression("^float *{ return 0; }"), "^<* float>{(return 0)}");
    assert_eq!(expression("f(a, ^(local void *p) { }, 3u)"), "(call f a ^<(p: * local void) ?>{} 3u)");
    assert_eq!(expression("^(int i) { return i; }(7)"), "(call ^<(i: int) ?>{(return i)} 7)");
}

#[test]
fn deep_trees_are_errors() {
    let limit = |text: String| diagnostics(&format!("void g() {{ a = {text}; }}"));
    let nested = |count: usize, open: &str, close: &str| open.repeat(count) + "a" + &close.repeat(count);
    assert_eq!(limit(nested(1000, "(", ")")), Vec::<String>::new());
    assert_eq!(limit("a + ".repeat(16_000) + "a"), Vec::<String>::new());
    for (open, close) in
        [("(", ")"), ("-", ""), ("a[", "]"), ("f(", ")"), ("(int)", ""), ("({", ";})"), ("a = ", ""), ("a ? a : ", "")]
    {
        let lines = limit(nested(100_000, open, close));
        assert_eq!(lines, ["1: bracket nesting level exceeded maximum of 1024"], "{open}");
    }
    for part in ["a + ", "a, ", "a[1].b."] {
        let lines = limit(part.repeat(40_000) + "a");
        assert_eq!(lines, ["1: expression exceeds the maximum of 16384 nested operators"], "{part}");
    }
    // Chains within brackets count together.
    let lines = limit("(".repeat(100) + "a" + &(" + a".repeat(400) + ")").repeat(100));
    assert_eq!(lines, ["1: expression exceeds the maximum of 16384 nested operators"]);
}
