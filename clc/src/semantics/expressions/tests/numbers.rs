//! Numbers, and constants that do not fit.

use super::check;
use crate::options::Version;

#[test]
fn literals() {
    check(
        Version::V3_0,
        r#"
kernel void f(global int *o, global float *p) {
  o[0] = 1u + 2l + 3ul + 0x1fu + 0b101 + 017 + 'a' + '\n' + '\x41' + '\101';
  o[0] = 'ab'; // warning: multi-character character constant
  o[0] = '\x1ff'; // error: hex escape sequence out of range
  o[0] = '\q'; // warning: unknown escape sequence '\q'
  o[0] = 08; // error: invalid digit '8' in octal constant
  o[0] = 0b12; // error: invalid digit '2' in binary constant
  o[0] = 1u8; // error: invalid suffix 'u8' on integer constant
  o[0] = 18446744073709551616; // error: integer literal is too large to be represented in any integer type
  o[1] = 9223372036854775808 != 0; // warning: integer literal is too large to be represented in a signed integer type, interpreting as unsigned
  p[0] = 0x1.0; // error: hexadecimal floating constant requires an exponent
  p[0] = 1e50f; // warning: magnitude of floating-point constant too large for type 'float'; maximum is 3.40282347E+38
  p[0] = 1e-50f; // warning: magnitude of floating-point constant too small for type 'float'; minimum is 1.40129846E-45
  p[0] = 1.5fh; // error: invalid suffix 'fh' on floating constant
  p[0] = 1e400; // warning: magnitude of floating-point constant too large for type 'double'; maximum is 1.7976931348623157E+308
  p[0] = 1.5f + .5f + 5.f + 1e2f + 0x1.8p3f;
  o[0] = sizeof("a" "bc\n") + "abc"[1];
}
"#,
    );
}

#[test]
fn constants() {
    check(
        Version::V3_0,
        r#"
void f(char c, uchar u, int i, float x, short s) {
  c = 300; // warning: implicit conversion from 'int' to 'char' changes value from 300 to 44
  c = 0xff;
  c = 255; // warning: implicit conversion from 'int' to 'char' changes value from 255 to -1
  c = -128;
  c = -129; // warning: implicit conversion from 'int' to 'char' changes value from -129 to 127
  u = -1;
  u = 256; // warning: implicit conversion from 'int' to 'uchar' changes value from 256 to 0
  s = 70000; // warning: implicit conversion from 'int' to 'short' changes value from 70000 to 4464
  i = 3.7f; // warning: implicit conversion from 'float' to 'int' changes value from 3.7 to 3
  i = 3.0f;
  i = 1e20f; // warning: implicit conversion of out of range value from 'float' to 'int' is undefined
  i = 4294967295u;
  x = 16777217; // warning: implicit conversion from 'int' to 'float' changes value from 16777217 to 16777216
  x = 16777216;
  i = i / 0; // warning: division by zero is undefined
  i = i << 32;
  i = i >> -1;
}
"#,
    );
}

#[test]
fn bounds_of_conversions_from_doubles() {
    check(
        Version::V3_0,
        "void f(void) {
  long a = -9223372036854775808.0;
  long b = 9223372036854775808.0; // warning: implicit conversion of out of range value from 'double' to 'long' is undefined
  ulong c = 18446744073709551615.0; // warning: implicit conversion of out of range value from 'double' to 'ulong' is undefined
  int d = -2147483649.0; // warning: implicit conversion of out of range value from 'double' to 'int' is undefined
  uchar e = -1.0; // warning: implicit conversion of out of range value from 'double' to 'uchar' is undefined
  int g = 2147483647.0;
}",
    );
}
