// A plain chain in Rust, below what its library puts around main.
use std::hint::black_box;

mod inner {
    use std::hint::black_box;

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
        let local = black_box(limit as u64);
        leaf(limit) + black_box(local)
    }
}

extern "C" {
    fn clock() -> std::os::raw::c_long;
}

#[inline(always)]
fn cpu_microseconds() -> i64 {
    unsafe { clock() as i64 }
}

#[inline(never)]
fn outer(limit: i64) -> u64 {
    let local = black_box(limit as u64);
    inner::middle(limit) + black_box(local)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0.0);
    println!("straight::main\nstraight::outer\nstraight::inner::middle\nstraight::inner::leaf");
    if seconds > 0.0 {
        black_box(outer((seconds * 1e6) as i64));
    }
}
