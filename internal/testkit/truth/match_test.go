package truth

import (
	"strings"
	"testing"
)

func TestMatchAcceptsOnlyTheChainAndWhatIsNotTheProgramsOwn(t *testing.T) {
	tests := []struct {
		about, chain, names string
		want                bool
	}{
		{"the chain alone", "main outer leaf", "main outer leaf", true},
		{"startup code above", "main outer leaf", "_start __libc_start_main main outer leaf", true},
		{"an unknown frame above", "main outer leaf", "? main outer leaf", true},
		{"a frame is missing", "main outer leaf", "_start main leaf", false},
		{"the root is missing", "main outer leaf", "outer leaf", false},
		{"the leaf is missing", "main outer leaf", "_start main outer", false},
		{"an unknown frame inside", "main outer leaf", "main ? leaf", false},
		{"a frame too many inside", "main outer leaf", "main outer other leaf", false},
		{"a frame below the leaf", "main outer leaf", "main outer leaf other", false},
		{"a frame twice", "main outer leaf", "main main outer leaf", false},
		{"no frame at all", "main", "", false},
		{"a recursion", "main down down leaf", "main down down leaf", true},
		{"a recursion too deep", "main down down leaf", "main down down down leaf", false},
		{"a recursion too short", "main down down leaf", "main down leaf", false},
		{"a gap filled", "main sort ... compare", "main sort qsort msort compare", true},
		{"a gap left empty", "main sort ... compare", "main sort compare", true},
		{"a gap with the program's frame", "main sort ... compare", "main sort qsort main compare", false},
		{"a gap at the end", "main ask ...", "main ask clock_gettime ?", true},
		{"a gap at the end left empty", "main ask ...", "main ask", true},
		{"a gap without its caller", "main ask ...", "main clock_gettime", false},
	}
	for _, test := range tests {
		t.Run(test.about, func(t *testing.T) {
			b := Built{Chain: strings.Fields(test.chain)}
			names := strings.Fields(strings.ReplaceAll(test.names, "?", "() "))
			if err := b.Match(names); (err == nil) != test.want {
				t.Errorf("Match(%q) of chain %q = %v; want a match: %t", test.names, test.chain, err, test.want)
			}
		})
	}
}

func TestBaseDropsParametersAndReturnTypes(t *testing.T) {
	tests := []struct{ name, want string }{
		{"main", "main"},
		{"outer(shapes::Shape&, long)", "outer"},
		{"int shapes::measure<int>(shapes::Shape&, int)", "shapes::measure<int>"},
		{"shapes::Square<unsigned int>::area(long)", "shapes::Square<unsigned int>::area"},
		{"shapes::(anonymous namespace)::leaf()", "shapes::(anonymous namespace)::leaf"},
		{"shapes::Square<int>::area(long) const", "shapes::Square<int>::area"},
		{"apply(void (*)(int), int)", "apply"},
		{"main.(*walker).step", "main.(*walker).step"},
		{"main.outer.func1", "main.outer.func1"},
		{"straight::inner::leaf", "straight::inner::leaf"},
		{"", ""},
		{")", ")"},
		{"a b)", "a b)"},
	}
	for _, test := range tests {
		if got := base(test.name); got != test.want {
			t.Errorf("base(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestAProgramIsBusyInItsInnermostFunction(t *testing.T) {
	for _, test := range []struct {
		chain, names string
		want         bool
	}{
		{"main outer leaf", "_start main outer leaf", true},
		{"main outer leaf", "leaf", true},
		{"main outer leaf", "main outer leaf asm_sysvec_apic_timer_interrupt", true},
		{"main ask ...", "clock_gettime", true},
		{"main outer leaf", "_start main outer", false},
		{"main outer leaf", "_dl_relocate_object", false},
	} {
		b := Built{Chain: strings.Fields(test.chain)}
		if got := b.Busy(strings.Fields(test.names)); got != test.want {
			t.Errorf("chain %q, stack %q: %t", test.chain, test.names, got)
		}
	}
}
