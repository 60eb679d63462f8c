// A plain chain in Rust, below what its library puts around main. It compiles
// with Rust 1.60 and later.
mod inner {
    #[inline(never)]
    pub fn leaf(limit: i64) -> u64 {
        let mut count: u64 = 0;
        while crate::cpu_microseconds() < limit {
            let end = count + (1 << 24);
            while count < end {
                count += 1;
                // Keeps the loop, and calls nothing that would be inlined.
                unsafe { std::arch::asm!("/* {0} */", inout(reg) count) };
            }
        }
        count
    }

    #[inline(never)]
    pub fn middle(limit: i64) -> u64 {
        let local = limit as u64;
        leaf(limit) + crate::stored(&local)
    }
}

extern "C" {
    fn clock() -> std::os::raw::c_long;
}

#[inline(always)]
fn cpu_microseconds() -> i64 {
    unsafe { clock() as i64 }
}

// Reads a value from the stack after a call, so that the call is no tail call.
#[inline(always)]
fn stored(value: &u64) -> u64 {
    unsafe { std::ptr::read_volatile(value) }
}

#[inline(never)]
fn outer(limit: i64) -> u64 {
    let local = limit as u64;
    inner::middle(limit) + stored(&local)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0.0);
    println!("straight::main\nstraight::outer\nstraight::inner::middle\nstraight::inner::leaf");
    if seconds > 0.0 && outer((seconds * 1e6) as i64) == 0 {
        std::process::exit(1);
    }
}
