"""Each function of QMCToolsCL on the device, with one point and with many per work-item, beside the same function in C."""

import time

import numpy as np
import qmctoolscl as qmc

from common import case, equal, package_version, spent

package_version("qmctoolscl")
random = np.random.default_rng(1)
BASES = np.array([2, 3, 5, 7, 11], dtype=np.uint64)
REPLICATIONS, POINTS, DIMENSIONS, BITS = 3, 256, 5, 20
DIGITS, SCRAMBLED, INTERLACED = 8, 12, 2


def bits(count, *shape):
    return random.integers(0, 1 << count, shape, dtype=np.uint64)


def digits(*shape):
    """Digits whose bases depend on the second dimension but one, which is that of the points."""
    return np.stack([random.integers(0, int(base), shape, dtype=np.uint64) for base in BASES], axis=-2)


def matrices(*shape, rows=DIGITS):
    """Generating or scrambling matrices with as many bases as dimensions."""
    return np.stack([random.integers(0, int(base), (*shape, rows), dtype=np.uint64) for base in BASES], axis=1)


def empty(*shape, kind=np.uint64):
    return np.zeros(shape, dtype=kind)


def transforms(half):
    """A transform of rows of twice `half` numbers: the factors of the Fourier transforms, and two arrays."""
    size = 2 * half
    rows = [random.standard_normal((2, 3, size)) for _ in range(2)]
    factors = [np.empty(size) for _ in range(2)]
    return factors, rows


def functions():
    """Name, sizes of the launch, and the other arguments; numbers become 64-bit ones."""
    r, n, d = REPLICATIONS, POINTS, DIMENSIONS
    points = (r, n, d)
    floats = {"kind": np.float64}
    vector = random.integers(1, 1 << 20, (r, d), dtype=np.uint64) | np.uint64(1)
    net = bits(BITS, r, d, BITS)
    lengths = np.full(r, BITS, dtype=np.uint64)
    left = np.full(r, 4, dtype=np.uint64)
    shifts = bits(BITS + 4, r, d)
    lattice = random.random((r, n, d))
    for start, order in [(0, "natural"), (256, "natural"), (0, "gray"), (256, "gray")]:
        yield f"lat_gen_{order}", points, [start, vector, empty(*points, **floats)]
        yield f"dnb2_gen_{order}", points, [start, BITS, net, empty(*points)]
        for shifted in (0, 1):
            more = [start, BITS, r, np.uint8(shifted), left, shifts, lengths + left * np.uint64(shifted), net]
            yield f"dnb2_gen_{order}_float", points, [*more, empty(*points, **floats)]
    yield "lat_gen_linear", points, [vector, empty(*points, **floats)]
    yield "lat_shift_mod_1", points, [r, lattice, random.random((r, d)), empty(*points, **floats)]
    yield "lat_shift_mod_1", points, [1, lattice[0].copy(), random.random((r, d)), empty(*points, **floats)]
    yield "dnb2_digital_shift", points, [1, left, bits(BITS, 1, n, d), shifts, empty(*points)]
    yield "dnb2_integer_to_float", points, [lengths, bits(BITS, *points), empty(*points, **floats)]
    yield "dnb2_gmat_lsb_to_msb", (r, d, BITS), [lengths, net, empty(r, d, BITS)]
    yield "dnb2_linear_matrix_scramble", (r, d, BITS), [1, 30, bits(BITS, r, d, 30), net[:1].copy(), empty(r, d, BITS)]
    wide = bits(BITS, r, d * INTERLACED, BITS)
    long = BITS * INTERLACED
    yield "dnb2_interlace", (r, d, BITS), [d * INTERLACED, BITS, long, INTERLACED, wide, empty(r, d, BITS)]
    inverse = [d, BITS, long, INTERLACED, bits(long, r, d, BITS), empty(r, d * INTERLACED, BITS)]
    yield "dnb2_undo_interlace", (r, d * INTERLACED, BITS), inverse
    bases = BASES[None].copy()
    general = matrices(r, DIGITS)
    sequence = digits(r, n, DIGITS)
    for start in (0, 100):
        yield "gdn_gen_natural", points, [1, DIGITS, DIGITS, start, bases, general, empty(r, n, d, DIGITS)]
        more = [DIGITS, DIGITS, start, 3, general % np.uint64(3), empty(r, n, d, DIGITS)]
        yield "gdn_gen_natural_same_base", points, more
    yield "gdn_integer_to_float", points, [1, DIGITS, bases, sequence, empty(*points, **floats)]
    more = [r, 1, DIGITS, SCRAMBLED, bases, matrices(r, rows=SCRAMBLED), sequence, empty(r, n, d, SCRAMBLED)]
    yield "gdn_digital_shift", points, more
    largest = int(BASES.max())
    permutations = np.zeros((r, d, SCRAMBLED, largest), dtype=np.uint64)
    for row in permutations.reshape(-1, SCRAMBLED * largest):
        row[:] = random.permutation(SCRAMBLED * largest) % largest
    more = [r, 1, DIGITS, SCRAMBLED, largest, permutations, sequence, empty(r, n, d, SCRAMBLED)]
    yield "gdn_digital_permutation", points, more
    more = [1, 1, DIGITS, SCRAMBLED, bases, matrices(r, SCRAMBLED), general[:1].copy(), empty(r, d, DIGITS, SCRAMBLED)]
    yield "gdn_linear_matrix_scramble", (r, d, DIGITS), more
    tall = DIGITS * INTERLACED
    wide = random.integers(0, 3, (r, d * INTERLACED, DIGITS, DIGITS), dtype=np.uint64)
    more = [d * INTERLACED, DIGITS, tall, INTERLACED, wide, empty(r, d, DIGITS, tall)]
    yield "gdn_interlace", (r, d, DIGITS), more
    wide = random.integers(0, 3, (r, d, DIGITS, tall), dtype=np.uint64)
    more = [d, DIGITS, tall, INTERLACED, wide, empty(r, d * INTERLACED, DIGITS, DIGITS)]
    yield "gdn_undo_interlace", (r, d * INTERLACED, DIGITS), more
    for half in (1, 8, 128):
        factors, rows = transforms(half)
        yield "fft_bro_1d_radix2", (2, 3, half), [*factors, *rows]
        yield "ifft_bro_1d_radix2", (2, 3, half), [*factors, *rows]
        yield "fwht_1d_radix2", (2, 3, half), [rows[0]]


def result(name, sizes, more, **options):
    """The arrays that a function writes, which are its last arguments."""
    more = [one.copy() if isinstance(one, np.ndarray) else one if isinstance(one, np.uint8) else np.uint64(one) for one in more]
    getattr(qmc, name)(*map(np.uint64, sizes), *more, **options)
    return np.stack(more[-2:] if "fft" in name else more[-1:])


def main():
    start = time.monotonic()
    seen = {}
    for name, sizes, more in functions():
        seen[name] = seen.get(name, 0) + 1
        expected = result(name, sizes, more, backend="c")
        groups = [sizes] if "radix2" in name else [sizes, (2, 16, 3), (1, 1, 1)]
        for launch in groups:
            options = {"local_size": (1, 1, sizes[2])} if "radix2" in name else {}
            with case(f"{name} {seen[name]}, {' x '.join(map(str, launch))} work-items"):
                got = result(name, sizes, more, backend="cl", global_size=launch, **options)
                if expected.dtype == np.uint64:
                    # `equal` compares doubles, which have fewer bits.
                    equal(got.view(np.uint32), expected.view(np.uint32))
                else:
                    equal(got, expected, absolute=1e-14)
    spent("run", time.monotonic() - start)


main()
