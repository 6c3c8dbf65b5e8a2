//! Products of a panel with many positions, once for every level that has sixteen rows in one
//! `Int`: the loops are here, a level's instructions in the module that expands this.
//!
//! The module says what `Int` and `Real` are (sixteen integers, sixteen floats), and adds up
//! products: `products`, `scaled_products`, `pairs`, `offset`. All of it is exact, so that
//! only the float steps at the end of a block have an order, and that order is written here.

/// Declares the matrix products of the quantized types. `$many`: positions that share what is
/// loaded of the panel.
macro_rules! panel_gemms {
    ($features:literal, $many:literal) => {
        /// `P` positions of 32-blocks. `STEPS`: steps of four values whose products are added in
        /// 16 bits, where a level does so; `OFFSET`: log2 of what the numbers are offset by, or
        /// −1; `SIGNED`: they are signed bytes; `MINIMUM`: there is one.
        #[inline]
        #[target_feature(enable = $features)]
        fn positions32<
            const P: usize,
            const STEPS: usize,
            const OFFSET: i32,
            const SIGNED: bool,
            const MINIMUM: bool,
        >(
            lines: &[Line],
            a: &Acts<'_>,
            first: usize,
            out: &mut [[f32; TILE]],
        ) {
            let q: [&[[[i8; 4]; 8]]; P] =
                each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
            let d: [&[f32]; P] = each(a.d, first, a.blocks);
            let s: [&[i32]; P] = each(a.s, first, a.blocks);
            let mut acc = [[zero_real(); 4]; P];
            for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
                let mut isum = [zero(); P];
                for p in 0..P {
                    isum[p] = offset::<OFFSET, SIGNED>(s[p][b]);
                }
                products::<P, STEPS, SIGNED, 8>(&mut isum, &lines[..8], at(&q, b), 0);
                let (scales, minima) = (floats(&lines[8]), floats(&lines[9]));
                for p in 0..P {
                    let acc = &mut acc[p][b % 4];
                    *acc = add_scaled(*acc, isum[p], scales, d[p][b]);
                    if MINIMUM {
                        *acc = add_scaled(*acc, all(s[p][b]), minima, d[p][b]);
                    }
                }
            }
            for (acc, out) in acc.into_iter().zip(out) {
                put_values(acc, out);
            }
        }

        /// `P` positions of 256-blocks. `STEPS` as above; `SIX`: Q6_K, else Q4_K or Q5_K; `ALL`:
        /// lines of a block.
        #[inline]
        #[target_feature(enable = $features)]
        fn positions256<const P: usize, const STEPS: usize, const SIX: bool, const ALL: usize>(
            lines: &[Line],
            a: &Acts<'_>,
            first: usize,
            out: &mut [[f32; TILE]],
        ) {
            let layout = if SIX { GROUPS16 } else { GROUPS32 };
            let q: [&[[[i8; 4]; 64]]; P] =
                each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
            let d: [&[f32]; P] = each(a.d, first, a.blocks);
            let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
            let mut acc = [[zero_real(); 4]; P];
            for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
                let q = at(&q, b);
                let mut isum = [zero(); P];
                let steps = 64 / layout.groups;
                for j in 0..layout.groups {
                    let group = &lines[j * steps..(j + 1) * steps];
                    let scale = &lines[64 + j];
                    scaled_products::<P, STEPS, 64>(&mut isum, group, q, j * steps, scale);
                }
                let mut msum = [zero(); P];
                let from = if SIX { 0 } else { 16 };
                for i in 0..layout.pairs {
                    let weights = line(&lines[64 + layout.groups + i]);
                    for p in 0..P {
                        let (low, high) =
                            (sums[p][b][from + 2 * i], sums[p][b][from + 2 * i + 1]);
                        msum[p] = pairs(msum[p], weights, low, high);
                    }
                }
                let scales = &lines[64 + layout.groups + layout.pairs..];
                let (scales, minima) = (floats(&scales[0]), floats(&scales[scales.len() - 1]));
                for p in 0..P {
                    let acc = &mut acc[p][b % 4];
                    if SIX {
                        let isum = less_32_times(isum[p], msum[p]);
                        *acc = add_scaled(*acc, isum, scales, d[p][b]);
                    } else {
                        *acc = add_scaled(*acc, isum[p], scales, d[p][b]);
                        *acc = take_scaled(*acc, msum[p], minima, d[p][b]);
                    }
                }
            }
            for (acc, out) in acc.into_iter().zip(out) {
                put_values(acc, out);
            }
        }

        panel_gemms! { $features, $many, LINES32, positions32:
            gemm_q4_0 = avx2_words::panel_q4_0, <8, 3, false, false>;
            sixteen_q4_0 = avx2_sixteen::panel_q4_0, <8, 3, false, false>;
            gemm_q4_1 = avx2_words::panel_q4_1, <8, { -1 }, false, true>;
            sixteen_q4_1 = avx2_sixteen::panel_q4_1, <8, { -1 }, false, true>;
            gemm_q5_0 = avx2_words::panel_q5_0, <4, 4, false, false>;
            sixteen_q5_0 = avx2_sixteen::panel_q5_0, <4, 4, false, false>;
            gemm_q5_1 = avx2_words::panel_q5_1, <4, { -1 }, false, true>;
            sixteen_q5_1 = avx2_sixteen::panel_q5_1, <4, { -1 }, false, true>;
            gemm_q8_0 = avx2_words::panel_q8_0, <1, { -1 }, true, false>;
            sixteen_q8_0 = avx2_sixteen::panel_q8_0, <1, { -1 }, true, false>;
            gemm_iq4_nl = avx2_panel_more::panel_iq4_nl, <1, { -1 }, true, false>;
            gemm_mxfp4 = avx2_panel_more::panel_mxfp4, <4, 4, false, false>;
        }
        panel_gemms! { $features, $many, GROUPS32.all, positions256:
            gemm_q4_k = avx2_words::panel_q4_k, <8, false, { GROUPS32.all }>;
            sixteen_q4_k = avx2_sixteen::panel_q4_k, <8, false, { GROUPS32.all }>;
            gemm_q5_k = avx2_words::panel_q5_k, <4, false, { GROUPS32.all }>;
            sixteen_q5_k = avx2_sixteen::panel_q5_k, <4, false, { GROUPS32.all }>;
        }
        panel_gemms! { $features, $many, GROUPS16.all, positions256:
            gemm_q6_k = avx2_words::panel_q6_k, <2, true, { GROUPS16.all }>;
            sixteen_q6_k = avx2_sixteen::panel_q6_k, <2, true, { GROUPS16.all }>;
        }

        /// The matrix product of interleaved groups.
        pub(super) fn sixteen(dtype: DType) -> Option<Gemm> {
            let gemm: Gemm = match dtype {
                DType::Q4_0 => sixteen_q4_0,
                DType::Q4_1 => sixteen_q4_1,
                DType::Q5_0 => sixteen_q5_0,
                DType::Q5_1 => sixteen_q5_1,
                DType::Q8_0 => sixteen_q8_0,
                DType::Q4K => sixteen_q4_k,
                DType::Q5K => sixteen_q5_k,
                DType::Q6K => sixteen_q6_k,
                _ => return None,
            };
            Some(gemm)
        }
    };
    ($features:literal, $many:literal, $lines:expr, $positions:ident: $(
        $name:ident = $panel:path, <$($kind:tt),*>;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(in crate::x86_64) fn $name(
            rows: &[u8],
            stride: usize,
            a: &Acts<'_>,
            work: &mut Work,
            out: &mut [f32],
        ) {
            if rows.is_empty() {
                return;
            }
            let lines = work.panel.take(a.blocks * $lines);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + $many <= a.n {
                $positions::<$many, $($kind),*>(lines, a, p, &mut out[p..]);
                p += $many;
            }
            while p + 4 <= a.n {
                $positions::<4, $($kind),*>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                $positions::<1, $($kind),*>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    )*};
}
pub(super) use panel_gemms;
