package python

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

func TestReleasesThatAreNotKnownAreRefused(t *testing.T) {
	path := compiled.Program(t, map[string]string{"version.c": "const unsigned long Py_Version = 1;"},
		"gcc", "-o", "version.so", "version.c", "-shared", "-fPIC", "-nostdlib", "-Wl,--hash-style=gnu")
	m := interptest.Module(t, path)
	s, ok := m.Symbol("Py_Version")
	if !ok {
		t.Fatal("there is no Py_Version")
	}
	const known = "the releases that are known are 3.6 to 3.15"
	for _, test := range []struct {
		version   uint64 // PY_VERSION_HEX
		name, why string
	}{
		{0x030b02f0, "CPython 3.11.2", ""},
		{0x030f02f0, "CPython 3.15.2", ""},
		{0x030f00c1, "CPython 3.15.0", ""}, // its first candidate
		{0x030f00b4, "CPython 3.15.0", "it is no release but one before"},
		{0x030d00a1, "CPython 3.13.0", "it is no release but one before"},
		{0x031000f0, "CPython 3.16.0", known},
		{0x040000f0, "CPython 4.0.0", known},
	} {
		r := &python{memory: interp.Image{{Addr: s.Addr, Bytes: binary.LittleEndian.AppendUint64(nil, test.version)}}}
		if why := r.version(m); why != test.why || r.name != test.name {
			t.Errorf("%#x: %q, %s; want %q, %s", test.version, why, r.name, test.why, test.name)
		}
	}
}
