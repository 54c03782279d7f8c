//! What the comments of a test file say.

/// Elements of buffers and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elem {
    Int(usize),
    Half,
    Float,
    Double,
}

impl Elem {
    fn parse(name: &str) -> Result<Elem, String> {
        Ok(match name {
            "i8" => Elem::Int(1),
            "i16" => Elem::Int(2),
            "i32" => Elem::Int(4),
            "i64" => Elem::Int(8),
            "f16" => Elem::Half,
            "f32" => Elem::Float,
            "f64" => Elem::Double,
            _ => return Err(format!("`{name}` is not an element type")),
        })
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Elem::Int(bytes) => bytes,
            Elem::Half => 2,
            Elem::Float => 4,
            Elem::Double => 8,
        }
    }

    /// The bytes of a number: decimal, `0x` bits, or a float.
    fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        let bad = || format!("`{text}` is no {self:?}");
        if let Some(digits) = text.strip_prefix("0x") {
            let bits = u64::from_str_radix(digits, 16).map_err(|_| bad())?;
            return Ok(bits.to_le_bytes()[..self.bytes()].to_vec());
        }
        let float = || text.parse::<f64>().map_err(|_| bad());
        Ok(match self {
            Elem::Int(bytes) => text.parse::<i128>().map_err(|_| bad())?.to_le_bytes()[..bytes].to_vec(),
            Elem::Half => half::f16::from_f64(float()?).to_le_bytes().to_vec(),
            Elem::Float => (float()? as f32).to_le_bytes().to_vec(),
            Elem::Double => float()?.to_le_bytes().to_vec(),
        })
    }

    /// An element as text, for messages.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let bits = bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        match self {
            Elem::Int(bytes) => {
                let unused = 64 - 8 * bytes as u32;
                ((bits << unused) as i64 >> unused).to_string()
            }
            Elem::Half => half::f16::from_bits(bits as u16).to_string(),
            Elem::Float => f32::from_bits(bits as u32).to_string(),
            Elem::Double => f64::from_bits(bits).to_string(),
        }
    }
}

/// An argument.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Buffer(Vec<u8>),
    Value(Vec<u8>),
    Local(u64),
}

/// What an argument must hold after a run.
#[derive(Clone, Debug)]
pub(crate) struct Expect {
    pub(crate) arg: usize,
    pub(crate) elem: Elem,
    pub(crate) bytes: Vec<u8>,
}

/// A run of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) kernel: String,
    pub(crate) global: [u64; 3],
    pub(crate) local: [u64; 3],
    pub(crate) offset: [u64; 3],
    pub(crate) sub_group: u32,
    pub(crate) args: Vec<Arg>,
    pub(crate) expect: Vec<Expect>,
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) runs: Vec<Run>,
    pub(crate) spec: Vec<(u32, Vec<u8>)>,
    pub(crate) link: Vec<String>,
    pub(crate) error: Option<String>,
}

impl Case {
    /// Reads the comments.
    pub(crate) fn parse(text: &str) -> Result<Case, String> {
        let mut case = Case::default();
        for line in text.lines() {
            let Some((key, rest)) = line.strip_prefix("; ").and_then(|line| line.split_once(": ")) else { continue };
            let rest = rest.trim();
            let last = |case: &mut Case| case.runs.pop().ok_or_else(|| format!("`{line}` before any run"));
            match key {
                "run" => case.runs.push(run(rest)?),
                "arg" => {
                    let mut run = last(&mut case)?;
                    run.args.push(arg(rest)?);
                    case.runs.push(run);
                }
                "expect" => {
                    let mut run = last(&mut case)?;
                    let (number, rest) = rest.split_once(' ').ok_or("an expectation needs a type")?;
                    let (elem, bytes) = typed(rest)?;
                    let arg = number.parse().map_err(|_| format!("argument `{number}`"))?;
                    run.expect.push(Expect { arg, elem, bytes });
                    case.runs.push(run);
                }
                "spec" => {
                    let (id, rest) = rest.split_once(' ').ok_or("a specialization constant needs a type")?;
                    case.spec.push((id.parse().map_err(|_| format!("SpecId `{id}`"))?, typed(rest)?.1));
                }
                "link" => case.link.push(rest.to_owned()),
                "error" => case.error = Some(rest.to_owned()),
                _ => {}
            }
        }
        Ok(case)
    }
}

/// A type and its elements.
fn typed(text: &str) -> Result<(Elem, Vec<u8>), String> {
    let mut words = text.split_whitespace();
    let elem = Elem::parse(words.next().unwrap_or(""))?;
    let words: Vec<&str> = words.collect();
    if let ["zero", count] = words[..] {
        let count: usize = count.parse().map_err(|_| format!("count `{count}`"))?;
        return Ok((elem, vec![0; count * elem.bytes()]));
    }
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend(elem.encode(word)?);
    }
    Ok((elem, bytes))
}

fn run(text: &str) -> Result<Run, String> {
    let mut words = text.split_whitespace();
    let kernel = words.next().unwrap_or("").to_owned();
    let mut run = Run {
        kernel,
        global: [1; 3],
        local: [0; 3],
        offset: [0; 3],
        sub_group: 1,
        args: Vec::new(),
        expect: Vec::new(),
    };
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not a size"))?;
        let mut sizes = if key == "offset" { [0; 3] } else { [1; 3] };
        for (size, text) in sizes.iter_mut().zip(value.split(',')) {
            *size = text.parse().map_err(|_| format!("size `{text}`"))?;
        }
        match key {
            "global" => run.global = sizes,
            "local" => run.local = sizes,
            "offset" => run.offset = sizes,
            "sub_group" => run.sub_group = sizes[0] as u32,
            _ => return Err(format!("`{key}` is not a size")),
        }
    }
    if run.local == [0; 3] {
        run.local = run.global;
    }
    Ok(run)
}

fn arg(text: &str) -> Result<Arg, String> {
    let (kind, rest) = text.split_once(' ').ok_or_else(|| format!("argument `{text}`"))?;
    match kind {
        "buffer" => Ok(Arg::Buffer(typed(rest)?.1)),
        "value" => Ok(Arg::Value(typed(rest)?.1)),
        "local" => Ok(Arg::Local(rest.parse().map_err(|_| format!("size `{rest}`"))?)),
        _ => Err(format!("argument `{text}`")),
    }
}
