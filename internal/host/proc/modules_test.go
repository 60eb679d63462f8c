package proc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModulesAreThoseWithAnAddress(t *testing.T) {
	const text = `ext4 1060864 1 - Live 0xffffffffc0512000
jbd2 192512 1 ext4, Live 0xffffffffc04d0000 (E)
hidden 1060864 1 - Live 0x0000000000000000
size much 1 - Live 0xffffffffc0512000
address 4096 1 - Live here
short

veth 40960 0 - Unloading 0xffffffffc0300000 (O-)
`
	want := []Module{{"ext4", 0xffffffffc0512000, 1060864}, {"jbd2", 0xffffffffc04d0000, 192512}, {"veth", 0xffffffffc0300000, 40960}}
	if diff := cmp.Diff(want, ParseModules([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
