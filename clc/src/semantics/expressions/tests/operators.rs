//! Operators, members, and names.

use super::check;
use crate::options::Version;

#[test]
fn assignments() {
    check(
        Version::V3_0,
        r#"
constant int ci = 3;
void use(int);
void f(const int k, int i, float x) {
  int a[4];
  const int c[2] = {1, 2};
  k = 2; // error: cannot assign to variable 'k' with const-qualified type 'const int'
  ci = 1; // error: read-only variable is not assignable
  c[0] = 1; // error: cannot assign to variable 'c' with const-qualified type 'const int[2]'
  a = 0; // error: array type 'int[4]' is not assignable
  5 = i; // error: expression is not assignable
  i + 1 = 2; // error: expression is not assignable
  i++ = 1; // error: expression is not assignable
  use = 0; // error: taking address of function is not allowed
  "abc"[0] = 'x'; // error: read-only variable is not assignable
  &5; // error: cannot take the address of an rvalue of type 'int'
  &use; // error: taking address of function is not allowed
  &i; // warning: expression result unused
  *&i = 2;
  i %= 2;
  x %= 2; // error: invalid operands to binary expression ('float' and 'int')
  x <<= 1; // error: invalid operands to binary expression ('float' and 'int')
  i = ~x; // error: invalid argument type 'float' to unary expression
  i = (x, 2); // warning: left operand of comma operator has no effect
  i = x ? 1 : 2; // error: used type 'float' where floating point type is not allowed
  if (i = 3) a[0] = 1; // warning: using the result of an assignment as a condition without parentheses
  if ((i == 3)) a[0] = 1; // warning: equality comparison with extraneous parentheses
}
"#,
    );
}

#[test]
fn conditions_and_bodies_from_macros() {
    check(
        Version::V3_0,
        r#"
#define UNLIKELY(x) (x)
#define SAME(x) x
#define EQUAL(a, b) ((a) == (b))
#define LOG(text)
void f(int i, global int* a) {
  if (UNLIKELY(i == 3)) a[0] = 1;
  if (UNLIKELY(a[1] == 3)) a[0] = 1;
  if (SAME((i == 3))) a[0] = 1;
  if (EQUAL(i, 3)) a[0] = 1;
  if (i == 3) LOG("three");
  if (UNLIKELY(i)) LOG("none");
  if (UNLIKELY(i)) ; // warning: if statement has empty body
  if (i == 3) ; // warning: if statement has empty body
}
"#,
    );
}

#[test]
fn vectors() {
    check(
        Version::V3_0,
        r#"
void f(float4 v, char4 c, int i, double d, long l, uint4 u, short4 s, int4 r, float2 w, float3 t) {
  v = v * 1.0; // error: scalar operand type has greater rank than the type of the vector element. ('float4' and 'double')
  v = v * 1;
  c = c + 1; // error: scalar operand type has greater rank than the type of the vector element. ('char4' and 'int')
  u = u + l; // error: scalar operand type has greater rank than the type of the vector element. ('uint4' and 'long')
  u = u * 1.0f; // error: scalar operand type has greater rank than the type of the vector element. ('uint4' and 'float')
  s = s + c; // error: implicit conversions between vector types ('short4' and 'char4') are not permitted
  s = 1 << s; // error: requested shift is a vector of type 'short4' but the first operand is not a vector ('int')
  s = s << u;
  c = c << l;
  r = u == s; // error: implicit conversions between vector types ('uint4' and 'short4') are not permitted
  r = v < v;
  r = u && v; // error: implicit conversions between vector types ('uint4' and 'float4') are not permitted
  r = u && 1;
  r = !v;
  v = v % v; // error: invalid operands to binary expression ('float4' and 'float4')
  v = v ? v : v; // error: used type 'float4' where floating point type is not allowed
  v = r ? v : 1.0f;
  v = s ? v : v; // error: vector condition type 'short4' and result type 'float4' do not have elements of the same size
  u = r ? 1 : 2; // error: assigning to 'uint4' from incompatible type 'int4'
  short narrow = 1;
  s = s ? narrow : narrow;
  r = (int4)v; // error: invalid conversion between ext-vector type 'int4' and 'float4'
}
"#,
    );
}

#[test]
fn components() {
    check(
        Version::V3_0,
        r#"
void g(float4 v, int4 r, int i, float2 w, float3 t, long l, double d) {
  r = (int4)(1, 2, 3); // error: too few elements in vector initialization (expected 4 elements, have 3)
  r = (int4)(1, 2, 3, 4, 5); // error: excess elements in vector initializer
  r = (int4)(r.xy, 3, 4);
  r = (int4)(v.xy, 3, 4); // error: initializing 'int' with an expression of incompatible type 'float2'
  i = (int)r; // error: invalid conversion between vector type 'int4' and scalar type 'int'
  r = 1;
  i = r; // error: assigning to 'int' from incompatible type 'int4'
  r = v; // error: assigning to 'int4' from incompatible type 'float4'
  v.xx = v.xy; // error: vector is not assignable (contains duplicate components)
  v.xy = 1;
  i = i.x; // error: member reference base type 'int' is not a structure or union
  w = v.lo.yx.odd.xx; // error: member reference base type 'float' is not a structure or union
  &v.x; // error: address of vector element requested
  &v[1]; // error: address of vector element requested
  v[i] = v.s3 + v.S0;
  v.xg = w; // error: illegal vector component name 'g'
  v.s4 = 1; // error: vector component access exceeds type 'float4'
  v.xyzwx; // error: illegal vector component name 'xyzwx'
  w = t.hi;
  t.hi = w.yx;
  t.odd += t.even;
  t.hi.x = t.xyz.odd.x++;
  (t + t).hi = w; // error: expression is not assignable
}
"#,
    );
}

#[test]
fn vector_literals_of_pointers() {
    check(
        Version::V3_0,
        r#"
void f(global int *g, int i) {
  i = (ulong2)(g)[0] != (ulong)g;
  i = (short8)(g)[i]; // warning: cast to smaller integer type 'short' from '__global int *'
  i = (ulong2)g.x; // error: member reference base type '__global int *' is not a structure or union
  (ulong2)g; // error: invalid conversion between vector type 'ulong2' and scalar type '__global int *'
  (float2)(g); // error: invalid conversion between vector type 'float2' and scalar type '__global int *'
}
"#,
    );
}

#[test]
fn pointers() {
    check(
        Version::V3_0,
        r#"
void f(global int *g, const global int *gc, constant int *c, local int *l, int *p, float *q, int i, float x, global void *v) {
  p = g;
  g = p; // error: assigning '__generic int *' to '__global int *' changes address space of pointer
  p = c; // error: assigning '__constant int *' to '__generic int *' changes address space of pointer
  l = g; // error: assigning '__global int *' to '__local int *' changes address space of pointer
  p = 0;
  p = 1; // warning: incompatible integer to pointer conversion assigning to '__generic int *' from 'int'
  i = p; // warning: incompatible pointer to integer conversion assigning to 'int' from '__generic int *'
  g = gc; // warning: assigning to '__global int *' from 'const __global int *' discards qualifiers
  gc = g;
  q = p; // warning: incompatible pointer types assigning to '__generic float *' from '__generic int *'
  v = g;
  g = v;
  p = (int *)c; // error: casting '__constant int *' to type '__generic int *' changes address space of pointer
  g = (global int *)p;
  i = (int)p; // warning: cast to smaller integer type 'int' from '__generic int *'
  x = (float)p; // error: pointer cannot be cast to type 'float'
  p = (int *)x; // error: operand of type 'float' cannot be cast to a pointer type
  i = g - p;
  i = g - l; // error: arithmetic operation with operands of type  ('__global int *' and '__local int *') which are pointers to non-overlapping address spaces
  i = p - q; // error: '__generic int *' and '__generic float *' are not pointers to compatible types
}
void h(global int *g, local int *l, int *p, float *q, int i, float x, global void *v, constant int *c, const int *k) {
  p = p + x; // error: invalid operands to binary expression ('__generic int *' and 'float')
  p = p + p; // error: invalid operands to binary expression ('__generic int *' and '__generic int *')
  p = 1 - p; // error: invalid operands to binary expression ('int' and '__generic int *')
  p += i;
  p *= 2; // error: invalid operands to binary expression ('__generic int *' and 'int')
  i = p == q; // warning: comparison of distinct pointer types ('__generic int *' and '__generic float *')
  i = g == l; // error: comparison between  ('__global int *' and '__local int *') which are pointers to non-overlapping address spaces
  i = p == i; // warning: comparison between pointer and integer ('__generic int *' and 'int')
  i = p == 0;
  i = p < 0;
  p = i ? p : 0;
  p = i ? g : l; // error: conditional operator with the second and third operands of type  ('__global int *' and '__local int *') which are pointers to non-overlapping address spaces
  p = i ? p : q; // warning: pointer type mismatch ('__generic int *' and '__generic float *')
  v = i ? g : v;
  *c = 1; // error: read-only variable is not assignable
  *k = 1; // error: read-only variable is not assignable
  k[1] += 1; // error: read-only variable is not assignable
  *i = 1; // error: indirection requires pointer operand ('int' invalid)
  i = *v; // warning: ISO C does not allow indirection on operand of type '__global void *' | error: assigning to 'int' from incompatible type '__global void'
  p++;
}
"#,
    );
}

#[test]
fn members() {
    check(
        Version::V3_0,
        r#"
typedef struct S { int a; float b[4]; struct { int x; const int y; }; union { int u; float w; }; } S;
struct T;
S make(S s) { return s; }
enum E { A, B };
void f(global S *g, global struct T *t, int i, S s) {
  S *p = &s;
  s.a = s.b[2] = s.x = s.u;
  s.q = 1; // error: no member named 'q' in 'struct S'
  p.a = 1; // error: member reference type '__generic struct S *' is a pointer; did you mean to use '->'?
  s.height = 2; // error: no member named 'height' in 'struct S'
  s.y = 1; // error: cannot assign to non-static data member 'y' with const-qualified type 'const int'
  g->b = 0; // error: array type '__global float[4]' is not assignable
  g[1].w = make(s).b[i];
  make(s).a = 1; // error: expression is not assignable
  t->x = 1; // error: incomplete definition of type 'struct T'
  i.a = 1; // error: member reference base type 'int' is not a structure or union
  s = 1; // error: cannot assign to lvalue with nested const-qualified data member of type 'struct S'
  i = s; // error: assigning to 'int' from incompatible type 'struct S'
  s = *p; // error: cannot assign to lvalue with nested const-qualified data member of type 'struct S'
  i = sizeof(struct T); // error: invalid application of 'sizeof' to an incomplete type 'struct T'
  i = __builtin_offsetof(S, b[2]) + __builtin_offsetof(S, u);
  A = 1; // error: expression is not assignable
  if (s) i = 1; // error: statement requires expression of scalar type ('struct S' invalid)
  -s; // error: invalid argument type 'struct S' to unary expression
  (int)s; // error: operand of type 'struct S' where arithmetic or pointer type is required
  (S)i; // error: used type 'struct S' where arithmetic or pointer type is required
  s + 1; // error: invalid operands to binary expression ('struct S' and 'int')
}
"#,
    );
}

#[test]
fn names() {
    check(
        Version::V3_0,
        r#"
typedef int number;
void f(int width, int height) {
  int a = widht + height; // error: use of undeclared identifier 'widht'; did you mean 'width'?
  a = heigth; // error: use of undeclared identifier 'heigth'; did you mean 'height'?
  a = number; // error: unexpected type name 'number': expected expression
  a = nothing; // error: use of undeclared identifier 'nothing'
  a = true + false;
  a = read_pipe; // error: taking address of function is not allowed
  a = sqrt; // error: taking address of function is not allowed
}
"#,
    );
}

#[test]
fn before_opencl_1_2() {
    check(
        Version::V1_1,
        r#"
void f(float x, float4 v, int i) {
  i = !x; // error: invalid argument type 'float' to unary expression
  i = x && i; // error: invalid operands to binary expression ('float' and 'int')
  int4 r = !v; // error: invalid argument type 'float4' to unary expression
  r = v && v; // error: invalid operands to binary expression ('float4' and 'float4')
  v = v.rgba; // warning: vector component name 'r' is a feature from OpenCL version 3.0 onwards
  i = sizeof(1.0);
}
"#,
    );
}

#[test]
fn names_of_the_language_that_may_be_meant() {
    check(
        Version::V1_2,
        "kernel void k(global float *p) {
  p[get_gobal_id(0)] = 1; // error: use of undeclared identifier 'get_gobal_id'; did you mean 'get_global_id'?
  p[0] = nativ_sin(p[1]); // error: use of undeclared identifier 'nativ_sin'; did you mean 'native_sin'?
  barrier(CLK_LOCAL_FENCE); // error: use of undeclared identifier 'CLK_LOCAL_FENCE'; did you mean 'CLK_LOCAL_MEM_FENCE'?
  p[0] = work_group_ani(1); // error: use of undeclared identifier 'work_group_ani'
  uint32_t x; // error: use of undeclared identifier 'uint32_t'; did you mean 'uint'?
  flaot4 y; // error: use of undeclared identifier 'flaot4'; did you mean 'float4'?
}
void g(uint8_t z); // error: unknown type name 'uint8_t'; did you mean 'uchar'?
",
    );
}
