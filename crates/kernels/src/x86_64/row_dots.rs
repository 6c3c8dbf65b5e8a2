//! Rows as they lie in the file against one position, once for every level: the loops and the
//! float steps are here, numbers and integer sums in the module that expands this.
//!
//! Four blocks of a row are worked on at a time: the four accumulators of the contract are the
//! lanes of one vector, and what is left over goes to lanes one by one.

/// How far ahead of the block in hand memory is asked for.
pub(super) const AHEAD: usize = 1024;

/// Declares products of rows. Closures take a block, its activations (and, of 256, their sums).
macro_rules! row_dots {
    // 32-blocks: bytes of a block, its eight partial sums, how those of four blocks are summed,
    // log2 of the numbers' offset, what gives the scales of four blocks and of one, where a
    // minimum stands.
    ($features:literal, 32: $(
        $name:ident = $bytes:literal, $product:expr, $fold:ident, $offset:expr,
        [$scales:ident, $scale:ident], $minimum:expr;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            const OFFSET: Option<u32> = $offset;
            const MINIMUM: Option<usize> = $minimum;
            let (q4s, q_rest) = a.q.as_chunks::<32>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.s.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                // By index: the library's zip is not inlined here.
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    ahead(&blocks[0], AHEAD);
                    let of = |i: usize| $product(&blocks[i], &q[i]);
                    let mut isum = $fold([of(0), of(1), of(2), of(3)]);
                    let (d, s) = (load4(d), load4_i32(s));
                    if let Some(offset) = OFFSET {
                        let by = _mm_cvtsi32_si128(offset as i32);
                        isum = _mm_sub_epi32(isum, _mm_sll_epi32(s, by));
                    }
                    let scale = _mm_mul_ps($scales(blocks, 0), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
                    if let Some(at) = MINIMUM {
                        let scale = _mm_mul_ps($scales(blocks, at), d);
                        acc = _mm_fmadd_ps(_mm_cvtepi32_ps(s), scale, acc);
                    }
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let mut isum = sum($product(block, &q_rest[i]));
                    if let Some(offset) = OFFSET {
                        isum -= s_rest[i] << offset;
                    }
                    acc[i] = (isum as f32).mul_add($scale(block, 0) * d_rest[i], acc[i]);
                    if let Some(at) = MINIMUM {
                        let scale = $scale(block, at) * d_rest[i];
                        acc[i] = (s_rest[i] as f32).mul_add(scale, acc[i]);
                    }
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
    // 256-blocks: bytes of a block, lines of memory to ask for, its eight partial sums, what
    // gives the scales of four blocks and of one, where a scale stands.
    ($features:literal, 256: $(
        $name:ident = $bytes:literal, $lines:literal, $sums:expr, [$halves:ident, $half:ident],
        $at:literal;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let (q4s, q_rest) = a.q.as_chunks::<256>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.sums.as_chunks::<SUMS>().0.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    let mut isum = [_mm256_setzero_si256(); 4];
                    for i in 0..4 {
                        for line in 0..$lines {
                            ahead(&blocks[i], AHEAD + 64 * line);
                        }
                        isum[i] = $sums(&blocks[i], &q[i], &s[i]);
                    }
                    let scale = _mm_mul_ps($halves(blocks, $at), load4(d));
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(isum)), scale, acc);
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let isum = sum($sums(block, &q_rest[i], &s_rest[i])) as f32;
                    acc[i] = isum.mul_add($half(block, $at) * d_rest[i], acc[i]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
    // The same with minima: the closure gives both sums; `$fold` and `$one` sum those of the
    // minima of four blocks and of one, `$zero` is none of them; `$minimum`: where it stands.
    ($features:literal, 256 with minima: $(
        $name:ident = $bytes:literal, $both:expr, [$fold:ident, $one:ident, $zero:ident],
        $halves:ident, $at:literal, $minimum:literal;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let (q4s, q_rest) = a.q.as_chunks::<256>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.sums.as_chunks::<SUMS>().0.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    let (mut isum, mut msum) = ([_mm256_setzero_si256(); 4], [$zero(); 4]);
                    for i in 0..4 {
                        ahead(&blocks[i], AHEAD);
                        ahead(&blocks[i], AHEAD + 64);
                        (isum[i], msum[i]) = $both(&blocks[i], &q[i], &s[i]);
                    }
                    let d = load4(d);
                    let scale = _mm_mul_ps($halves(blocks, $at), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(isum)), scale, acc);
                    let scale = _mm_mul_ps($halves(blocks, $minimum), d);
                    acc = _mm_fnmadd_ps(_mm_cvtepi32_ps($fold(msum)), scale, acc);
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let (isum, msum) = $both(block, &q_rest[i], &s_rest[i]);
                    let (isum, msum) = (sum(isum) as f32, $one(msum) as f32);
                    acc[i] = isum.mul_add(half(block, $at) * d_rest[i], acc[i]);
                    acc[i] = (-msum).mul_add(half(block, $minimum) * d_rest[i], acc[i]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
}
pub(super) use row_dots;
