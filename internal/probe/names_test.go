package probe

import (
	"slices"
	"testing"
)

func TestFunctionsHaveTheNamesOfTheSource(t *testing.T) {
	for _, test := range []struct {
		name            string
		functions, want []string
	}{
		{"C", []string{"malloc", "free"}, []string{"malloc", "free"}},
		{"C++", []string{"_ZN2ns4Deep1fEi", "_Z6DeepFnR5DeepTi"}, []string{"ns::Deep::f", "DeepFn"}},
		{"overloads", []string{"_ZN2ns1fEi", "_ZN2ns1fEd", "_ZN2ns1gEi"}, []string{"ns::f(int)", "ns::f(double)", "ns::g"}},
		{"one function at several places", []string{"_ZN2ns1fEi", "_ZN2ns1fEi"}, []string{"ns::f", "ns::f"}},
		{"the kernel's", []string{"nf_tables:nft_do_chain", "vfs_read"}, []string{"nf_tables:nft_do_chain", "vfs_read"}},
	} {
		s := &Set{Functions: test.functions}
		if got := s.Names(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
