package symbols

import (
	"testing"
)

const rustProgram = `
use std::hint::black_box;
pub struct S<T>(pub T);
impl<T: Copy + Into<u64>> S<T> {
    #[inline(never)]
    pub fn method(&self) -> u64 { black_box(self.0.into()) + 1 }
}
#[inline(never)]
fn plain() -> u64 { black_box(S(3u32)).method() }
fn main() { println!("{}", plain()); }
`

func TestRustFunctionsOfBothManglings(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		want  []string
	}{
		"v0":      {[]string{"-Csymbol-mangling-version=v0"}, []string{"program::main", "program::plain", "<program::S<u32>>::method"}},
		"default": {nil, []string{"program::main", "program::plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := buildSource(t, "rustc", "program.rs", rustProgram, append([]string{"-Copt-level=1"}, tt.flags...)...)
			have := map[string]bool{}
			for _, s := range allSymbols(t, openFile(t, out, Options{})) {
				have[Demangle(s.Name)] = true
			}
			for _, want := range tt.want {
				if !have[want] {
					t.Errorf("no function %s", want)
				}
			}
		})
	}
}
