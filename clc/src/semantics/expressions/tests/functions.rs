//! Calls, and what looks like one.

use super::check;
use crate::options::Version;

#[test]
fn calls() {
    check(
        Version::V3_0,
        r#"
int __attribute__((overloadable)) ov(int a);
int __attribute__((overloadable)) ov(float a);
int __attribute__((overloadable)) ov(float4 a);
int one(int a, global float *p);
struct S { int a; };
kernel void f(global int *gi, global float *gf, local float *lf, int i, float x, float4 v, uint u, char c, long l) {
  one(1); // error: too few arguments to function call, expected 2, have 1
  one(1, gf, 2); // error: too many arguments to function call, expected 2, have 3
  one(1, lf); // error: passing '__local float *' to parameter of type '__global float *' changes address space of pointer
  one(1, gi); // warning: incompatible pointer types passing '__global int *' to parameter of type '__global float *'
  one(v, gf); // error: passing 'float4' to parameter of incompatible type 'int'
  i(3); // error: called object type 'int' is not a function or function pointer
  nosuch(1); // error: use of undeclared identifier 'nosuch'
  ov(1) + ov(1.0f) + ov(v) + ov('a'); // warning: expression result unused
  ov(1u); // error: call to 'ov' is ambiguous
  ov(); // error: no matching function for call to 'ov'
  i = max(i, 3u); // error: call to 'max' is ambiguous
  i = max(u, 0); // error: call to 'max' is ambiguous
  i = max(c, c);
  x = sqrt(2); // error: call to 'sqrt' is ambiguous
  x = sqrt(x) + pow(x, 2) + pow(2, x);
  v = pow(v, 2) + clamp(v, 0, 1) + mix(v, v, 0.5f);
  x = clamp(x, 0, 1); // error: call to 'clamp' is ambiguous
  i = abs(x); // error: call to 'abs' is ambiguous
  get_global_id(); // error: too few arguments to function call, expected 1, have 0
  get_global_id(0, 1); // error: too many arguments to function call, expected 1, have 2
  i = get_global_id(v); // error: passing 'float4' to parameter of incompatible type 'uint'
}
"#,
    );
}

#[test]
fn builtins() {
    check(
        Version::V3_0,
        r#"
kernel void f(read_only image2d_t ri, write_only image2d_t wi, sampler_t s, global int *gi, global float *gf, constant float *cf, float x, float4 v, int4 r, uint4 u, int i, double d, float3 t, float2 w) {
  v = read_imagef(ri, s, w);
  v = read_imagef(ri, s, v); // error: no matching function for call to 'read_imagef'
  v = read_imagef(wi, s, w); // error: no matching function for call to 'read_imagef'
  write_imagef(wi, r.xy, v);
  write_imagef(ri, r.xy, v); // error: no matching function for call to 'write_imagef'
  s = 0; // error: invalid operands to binary expression ('sampler_t' and 'int')
  i = ri == ri; // warning: self-comparison always evaluates to true | error: invalid operands to binary expression ('__read_only image2d_t' and '__read_only image2d_t')
  v = vload4(0, gf) + vload4(i, cf);
  vstore4(v, 0, cf); // error: no matching function for call to 'vstore4'
  x = fract(x, &x);
  x = fract(x, cf); // error: no matching function for call to 'fract'
  atomic_add(gi, 1);
  atomic_add(gi, 1u);
  atomic_add(gf, 1); // warning: incompatible pointer types passing '__global float *' to parameter of type 'volatile __global int *'
  atomic_inc(cf); // error: no matching function for call to 'atomic_inc'
  r = convert_int4(v) + convert_int4_sat_rte(v);
  r = convert_int4(t); // error: no matching function for call to 'convert_int4'
  i = as_int(x);
  i = as_int(d); // error: invalid reinterpretation: sizes of 'int' and 'double' must match
  v = as_float4(t);
  t = as_float3(v);
  x = dot(v, t); // error: no matching function for call to 'dot'
  t = cross(t, t);
  i = any(r) + all(v == v.wzyx);
  i = any(v); // error: no matching function for call to 'any'
  r = isnan(v);
}
"#,
    );
}

#[test]
fn printf() {
    check(
        Version::V3_0,
        r#"
kernel void f(float x, float4 v, int4 r, int i, long l, char c, global char *g, constant char *k) {
  printf("%d %f %s %c %v4hlf %v4hld %ld %%\n", i, x, "abc", c, v, r, l);
  printf("%d\n", x); // warning: format specifies type 'int' but the argument has type 'float'
  printf("%d %d\n", 1); // warning: more '%' conversions than data arguments
  printf("%d\n", 1, 2); // warning: data argument not used by format string
  printf("%f\n", 1); // warning: format specifies type 'double' but the argument has type 'int'
  printf("%lf\n", x); // warning: length modifier 'l' results in undefined behavior or no effect with 'f' conversion specifier
  printf("%v4f\n", v); // warning: format specifies type 'double __attribute__((ext_vector_type(4)))' but the argument has type 'float4'
  printf("%d\n", l); // warning: format specifies type 'int' but the argument has type 'long'
  printf("%s\n", i); // warning: format specifies type 'char *' but the argument has type 'int'
  printf("%p\n", g);
  printf("%p\n", i); // warning: format specifies type 'void *' but the argument has type 'int'
  printf("%"); // warning: incomplete format specifier
  printf("%k\n", 1); // warning: invalid conversion specifier 'k'
  printf("%5.*f\n", 3, x);
  printf(k); // warning: format string is not a string literal (potentially insecure)
  printf(k, 1);
  printf(g); // error: passing '__global char *' to parameter of type 'const __constant char *' changes address space of pointer
}
"#,
    );
}

#[test]
fn special() {
    check(
        Version::V3_0,
        r#"
void f(int i, float x, float4 v, global int *g) {
  struct { int a; } s;
  i = sizeof(x) + sizeof(int[4]) + sizeof v.xyz + _Alignof(float4);
  i = sizeof(void); // error: invalid application of 'sizeof' to a void type
  i = vec_step(v) + vec_step(float3) + vec_step(int);
  i = vec_step(s); // error: 'vec_step' requires built-in scalar or vector type, 'struct (unnamed)' invalid
  i = _Generic(x, float: 1, int: 2);
  i = _Generic(i, float: 1); // error: controlling expression type 'int' not compatible with any generic association type
  i = __builtin_choose_expr(1, 2, v);
  i = __builtin_types_compatible_p(int, float);
  i = ({ int z = 3; z + 1; });
  i = i ?: 3;
  x = __builtin_astype(i, float);
  x = __builtin_astype(v, float); // error: invalid reinterpretation: sizes of 'float' and 'float4' must match
  v = __builtin_convertvector((int4)(1), float4);
  v = __builtin_convertvector(x, float4); // error: first argument to __builtin_convertvector must be of vector type, not 'float'
  v = __builtin_shufflevector(v, v, 0, 5, 2, -1);
  v = __builtin_shufflevector(v, v, 0, 8, 2, 1); // error: index for __builtin_shufflevector must be within the bounds of the input vectors
  i = __builtin_popcount(i) + __builtin_clz(i) + __builtin_ctzl(i) + __builtin_bswap32(i) + __builtin_expect(i, 1);
  x = __builtin_fabsf(x) + __builtin_inff() + __builtin_elementwise_max(x, x);
  __builtin_memcpy(g, &i, 4);
  __builtin_memcpy(g, &i, i); // error: the number of bytes must be a constant
  i = __atomic_fetch_add(g, 1, 0) + __atomic_load_n(g, 5);
  i = __builtin_add_overflow(i, 2, &i) || __builtin_mul_overflow(i, 3u, g) || __builtin_usubll_overflow(i, i, (ulong *)g);
  __builtin_sub_overflow(1ul, i, g); // error: operands of '__builtin_sub_overflow' must have 32 bits at most, or fit into the result
  __builtin_add_overflow(x, i, g); // error: '__builtin_add_overflow' needs two integers and a pointer to an integer that is not constant
  __builtin_add_overflow(i, i, (const int *)g); // error: '__builtin_add_overflow' needs two integers and a pointer to an integer that is not constant
  __builtin_nosuch(i); // error: use of undeclared identifier '__builtin_nosuch'
}
"#,
    );
}
