struct Counter {
    value: u64,
}

trait Step {
    fn step(&mut self, by: u64) -> u64;
}

impl Step for Counter {
    #[inline(never)]
    fn step(&mut self, by: u64) -> u64 {
        self.value = std::hint::black_box(self.value + by);
        self.value
    }
}

#[inline(never)]
fn greet(name: &str, times: u32) -> usize {
    std::hint::black_box(name).len() * times as usize
}

fn main() {
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut c = Counter { value: 0 };
    let mut sum = 0;
    for i in 0..n {
        c.step(std::hint::black_box(i));
        sum += greet(std::hint::black_box("hello\0"), std::hint::black_box(3));
    }
    std::hint::black_box(sum);
}
