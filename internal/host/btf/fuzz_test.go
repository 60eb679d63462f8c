package btf

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// FuzzParse asks everything of types that anything may be wrong with.
func FuzzParse(f *testing.F) {
	fuzzing.Bound(f)
	types, err := os.ReadFile("testdata/types.btf")
	if err != nil {
		f.Fatal(err)
	}
	module, err := os.ReadFile("testdata/module.btf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(types, module)
	f.Add(types, []byte{})
	f.Fuzz(func(t *testing.T, kernel, module []byte) {
		base, err := Parse(string(kernel), nil)
		if err != nil {
			return
		}
		use(t, base)
		if s, err := Parse(string(module), base); err == nil {
			use(t, s)
		}
	})
}

func use(t *testing.T, s *Spec) {
	n := 0
	for typ := range s.Types() {
		if n++; n > 60 {
			break
		}
		if again := s.Type(typ.ID()); again != typ {
			t.Fatalf("type %d is %+v and %+v", typ.ID(), typ, again)
		}
		if text := typ.Declare("x"); len(text) > maxSpelled*(maxName+100) {
			t.Fatalf("a declaration of %d bytes", len(text))
		}
		_ = typ.Name()
		_, _ = typ.Size()
		_, _, _, _ = typ.Resolve(), typ.Target(), typ.Signed(), typ.Bool()
		_ = typ.Qualified(TypeTag, "user")
		for i := range min(typ.Len(), 10) {
			typ.Param(i)
			typ.Enumerator(i)
			m := typ.Member(i)
			if found, ok := typ.Field(m.Name); ok && found.Name != m.Name {
				t.Fatalf("%q is found as %q", m.Name, found.Name)
			}
		}
		typ.FieldNames(100)
	}
}
