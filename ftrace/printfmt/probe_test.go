package printfmt

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestATextThatWasReadLateIsMarked(t *testing.T) {
	f := ftrace.UprobeFormat("uprobes", "readline", false)
	f.Fields = append(f.Fields,
		ftrace.Field{Name: "s", Type: "char", Offset: 16, Size: 4, ElemSize: 1, Location: ftrace.DataLoc, Array: true, String: true},
		ftrace.Field{Name: ProbeTextLate("s"), Type: "u8", Offset: 20, Size: 1, ElemSize: 1})
	f.PrintFmt = `"(%lx) s=\"%s\"", REC->__probe_ip, __get_str(s)`
	p, err := New(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for late, want := range []string{`(0x1000) s="ls"`, `(0x1000) s=~"ls"`} {
		raw := binary.LittleEndian.AppendUint64(make([]byte, 8), 0x1000)
		raw = append(binary.LittleEndian.AppendUint32(raw, 3<<16|21), byte(late))
		if got := string(p.Append(nil, append(raw, "ls\x00"...))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
