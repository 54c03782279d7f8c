//! Statements.

use super::{expect, expect_tree};
use crate::options::Version::V1_2;

#[test]
fn jumps_stay_where_they_can() {
    expect(
        V1_2,
        "void f(int a) {
           break;
           continue;
           case 1: ;
           default: ;
           goto nowhere;
          x: ;
          x: ;
           switch (a) { case 1: case 1: break; default: default: ; case 2 ... 4: case 3: ; }
           switch (a) { case 5 ... 1: ; case 1.0: ; case 0x100000001L: ; case -1: ; }
           switch (1.0f) { }
           switch (a) { case a: ; }
         }",
        "2: error: 'break' statement not in loop or switch statement
         3: error: 'continue' statement not in loop statement
         4: error: 'case' statement not in switch statement
         5: error: 'default' statement not in switch statement
         6: error: use of undeclared label 'nowhere'
         8: error: redefinition of label 'x'
         9: error: multiple default labels in one switch
         9: error: duplicate case value '1'
         9: error: duplicate case value '3'
         10: warning: empty case range specified
         10: error: integer constant expression must have integer type, not 'double'
         10: warning: overflow converting case value to switch condition type (4294967297 to 1)
         11: error: statement requires expression of integer type ('float' invalid)
         12: error: expression is not an integer constant expression",
    );
}

#[test]
fn assembly_without_instructions_has_no_effect() {
    expect(
        V1_2,
        "void f(int a) {
           asm volatile (\"\" : \"+r\"(a) :: \"memory\");
           asm (\"nop\");
           asm (\"\" : \"=r\"(a));
         }",
        "3: error: inline assembly is not supported
         4: error: inline assembly is not supported",
    );
}

#[test]
fn returns_match_the_function() {
    expect(
        V1_2,
        "void a(void) { return 1; }
         int b(void) { return; }",
        "1: error: void function 'a' should not return a value
         2: error: non-void function 'b' should return a value",
    );
    expect(
        V1_2,
        "int a(void) { }
         int b(int n) { if (n) return 1; }
         int c(int n) { for (;;) ; }
         int d(int n) { while (1) { if (n) break; } }
         int e(int n) { switch (n) { case 1: return 1; default: return 2; } }
         int f(void) { do { return 1; } while (0); }
         int g(int n) { if (n) return 1; else return 2; }
         int h(int n) { l: goto l; }
         int i(int n) { switch (n) { case 1: return 1; } }
         int j(int n) { goto end; end: return 1; }
         int k(int n) { do { if (n) continue; return 1; } while (n); }",
        "1: warning: non-void function does not return a value
         2: warning: non-void function does not return a value in all control paths
         4: warning: non-void function does not return a value
         9: warning: non-void function does not return a value in all control paths
         11: warning: non-void function does not return a value in all control paths",
    );
}

#[test]
fn unused_values_are_worth_a_warning() {
    expect(
        V1_2,
        "#define M(x) x + 1
         void f(int a, int b) { a + b; a == b; a < b; a = b; a++; f(a, b); (void)a; M(a); if (a == b); }",
        "2: warning: expression result unused
         2: warning: equality comparison result unused
         2: warning: relational comparison result unused
         2: warning: if statement has empty body",
    );
}

#[test]
fn loops_carry_hints() {
    expect_tree(
        V1_2,
        "void f(int n) {
           __attribute__((opencl_unroll_hint(4))) for (int i = 0; i < n; i++);
           #pragma unroll
           while (n--) ;
           #pragma unroll 1
           do { } while (0);
         }",
        "(loop unroll 4
         (loop unroll 0
         (do unroll 1",
    );
    expect(
        V1_2,
        "void f(int n) { __attribute__((opencl_unroll_hint(-1))) for (;;); __attribute__((opencl_unroll_hint(4))) n++; }",
        "1: error: 'opencl_unroll_hint' attribute requires a positive integral compile time constant expression
         1: error: 'opencl_unroll_hint' attribute only applies to 'for', 'while', and 'do' statements",
    );
}

#[test]
fn switches_have_labels_for_cases() {
    expect_tree(
        V1_2,
        "void f(uchar n) { switch (n) { case 1: n = 2; case -1: break; case 3 ... 5: { default: n = 7; } } }",
        "(switch (to int (load %n)) (1 L0) (4294967295 L1) (3..5 L2) (default L3)
         (label L0)
         (label L3)",
    );
}

#[test]
fn statement_expressions_have_the_value_of_the_last() {
    expect_tree(
        V1_2,
        "int f(int n) { return ({ int a = n; a + 1; }); }",
        "(return (statements
         (init %a (load %n))
         (add (load %a) int:1)))))",
    );
}

#[test]
fn contraction_is_scoped() {
    expect_tree(
        V1_2,
        "void f(void) { { #pragma OPENCL FP_CONTRACT OFF\n } }".replace("{ #", "{\n#").as_str(),
        "(contract false)))",
    );
}

#[test]
fn static_assertions_are_checked() {
    expect(
        V1_2,
        "_Static_assert(sizeof(int) == 4, \"int\");
         void f(int n) { _Static_assert(1 > 2, \"order\"); _Static_assert(n, \"n\"); }
         struct s { int a; _Static_assert(0, \"in\"); };",
        "2: error: static assertion failed due to requirement '1 > 2': order
         2: error: static assertion expression is not an integral constant expression
         3: error: static assertion failed due to requirement '0': in",
    );
}
