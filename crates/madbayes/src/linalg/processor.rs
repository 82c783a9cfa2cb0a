//! Runs a kernel compiled for the widest instructions of the processor at hand.

/// Work whose inner loops profit from wide vectors. `run` must be `#[inline(always)]`, as must what it calls: it is
/// compiled once for each kind of processor.
pub(crate) trait Kernel {
    /// What it computes.
    type Output;
    /// `FUSED`: multiply-add is one instruction. `WIDE`: there are 32 registers of 64 bytes.
    ///
    /// # Safety
    /// The processor must have what `FUSED` and `WIDE` claim. Only `on_this_processor` calls it.
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Self::Output;
}

/// a b + c: in a kernel that runs with FUSED one instruction, elsewhere with FUSED a slow call.
#[inline(always)]
pub(crate) fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Runs `kernel` with the best instructions available.
pub(crate) fn on_this_processor<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has just been asked for these features.
            return unsafe { on_avx512(kernel) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has just been asked for these features.
            return unsafe { on_avx2(kernel) };
        }
        // SAFETY: it claims nothing.
        unsafe { kernel.run::<false, false>() }
    }
    // SAFETY: 64-bit Arm has fused multiply-add in its base instructions.
    #[cfg(target_arch = "aarch64")]
    return unsafe { kernel.run::<true, false>() };
    // SAFETY: it claims nothing.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return unsafe { kernel.run::<false, false>() };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
fn on_avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function is compiled for such processors only, and called on them only.
    unsafe { kernel.run::<true, true>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn on_avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function is compiled for such processors only, and called on them only.
    unsafe { kernel.run::<true, false>() }
}
