package printfmt

import (
	"strings"

	"github.com/ringtap/ringtap/internal/host/btf"
)

// ErrNotBTF is returned if the data is not the kernel's type information.
var ErrNotBTF = btf.ErrNotBTF

// ReadConstants returns the names and values of all enumerators in BTF type information, such
// as the running kernel's /sys/kernel/btf/vmlinux. Names with different values in different
// places of the kernel are left out. Use it for Options.Constant. The error wraps ErrNotBTF.
func ReadConstants(data []byte) (map[string]int64, error) {
	types, err := btf.Parse(string(data), nil)
	if err != nil {
		return nil, err
	}
	found, ambiguous := make(map[string]int64), make(map[string]bool)
	for t := range types.Types() {
		if k := t.Kind(); k != btf.Enum && k != btf.Enum64 {
			continue
		}
		for i := range t.Len() {
			name, value := t.Enumerator(i)
			old, ok := found[name]
			if ok && old != value {
				ambiguous[name] = true
			}
			if !ok {
				// Copy the name; otherwise the map would keep all of the kernel's types.
				name = strings.Clone(name)
			}
			found[name] = value
		}
	}
	for name := range ambiguous {
		delete(found, name)
	}
	return found, nil
}
