package check

import (
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

func TestTextIsTheProgramsOnlyIfNoProcessChoseIt(t *testing.T) {
	for text, want := range map[string]bool{
		`begin { print("a"); }`:                                                             true,
		`begin { print(1 ? "a" : "b"); }`:                                                   true,
		`begin { $a = "a"; print($a); }`:                                                    true,
		`begin { $a = "a"; $b = $a; print($b); }`:                                           true,
		`begin { $a = { let $x = "b"; $x }; print($a); }`:                                   false,
		`begin { print(comm); }`:                                                            false,
		`kprobe:f { print(str(arg0)); }`:                                                    false,
		`kprobe:f { $a = "a"; $a = str(arg0); print($a); }`:                                 false,
		`kprobe:f { $n = 0; $a = "a"; while ($n < 2) { print($a); $a = str(arg0); $n++ } }`: false,
		`kprobe:f { $a = "a"; $b = "b"; $b = $a; $a = str(arg0); print($b); }`:              false,
		`kprobe:f { $a = "a"; $b = { $a = str(arg0); 1 }; print($a); }`:                     false,
		`kprobe:f { print(arg0 ? "a" : str(arg1)); }`:                                       false,
		`begin { @m[1] = comm; $a = "a"; $found = find(@m, 1, $a); print($a); }`:            false,
		`begin { @m["a"] = 1; for ($kv : @m) { print($kv.0); } }`:                           false,
		`fn f($s : string) : void { print($s); } begin { f(comm); }`:                        false,
		`begin { printf("%s", str_concat("a", comm)); }`:                                    false,
	} {
		parsed, err := syntax.Parse("", text, syntax.Options{})
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		p, err := Check(parsed, Options{Dialect: Default})
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		printed := 0
		for _, body := range p.bodies() {
			Walk(body, func(e Expr) {
				if call, ok := e.(*Call); ok && (call.Func == "print" || call.Func == "printf") {
					printed++
					if got := call.Args[0].Type().Program; got != want {
						t.Errorf("%s: it is the program's: %v, want %v", text, got, want)
					}
				}
			})
		}
		if printed != 1 {
			t.Errorf("%s prints %d times", text, printed)
		}
	}
}
