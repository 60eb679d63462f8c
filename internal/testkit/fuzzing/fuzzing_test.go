package fuzzing

import "testing"

func TestAnInputIsTriedSoOftenUnlessTheCommandLineSaysOtherwise(t *testing.T) {
	m := minimizeTime()
	before := m.Value.String()
	t.Cleanup(func() {
		if err := m.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
	for given, want := range map[string]string{m.DefValue: tries, "7x": "7x"} {
		if err := m.Value.Set(given); err != nil {
			t.Fatal(err)
		}
		Bound(t)
		if got := m.Value.String(); got != want {
			t.Errorf("%s given: it is %s, want %s", given, got, want)
		}
	}
}
