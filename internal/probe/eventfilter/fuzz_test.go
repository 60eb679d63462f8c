package eventfilter

import "testing"

// FuzzSplit holds that the kernel's part passes each filter again, unchanged in what
// it leaves to the kernel, and that no filter and no record end in a panic.
func FuzzSplit(f *testing.F) {
	for _, filter := range []string{
		`filename == "/etc/x" && flags & 2`, `!(filename !~ "a*" || dfd > -3)`, `argv ~ '*"*' && comm == "x"`, `filename == "a" || (`,
	} {
		f.Add(filter, record("/etc/x", 2))
	}
	f.Fuzz(func(t *testing.T, filter string, record []byte) {
		split, err := split(t, filter)
		if err != nil {
			return
		}
		split.Match(record)
		exact, rest, ok := split.ByAddress()
		if !ok {
			return
		}
		for _, part := range []string{exact, rest, split.Kernel} {
			if part == "" {
				continue
			}
			if again, err := Split(part, openat(), nil); err != nil || again.Kernel != part || again.ComparesText() {
				t.Errorf("%q leaves %q to the kernel, which reads it as %+v, %v", filter, part, again, err)
			}
		}
	})
}
