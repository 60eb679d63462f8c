package athit

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// pack returns b with a text as the visitor keeps it.
func pack(b []byte, addr uint64, text string, s state) []byte {
	b = append(b, text...)
	b = binary.LittleEndian.AppendUint64(b, addr)
	return binary.LittleEndian.AppendUint64(b, uint64(len(text))<<8|uint64(s))
}

func TestTextsAreTakenApart(t *testing.T) {
	b := pack(nil, 0x1000, "/bin/true", whole)
	b = pack(b, 0, "", unread)
	b = pack(b, 0x2000, "half", unread)
	b = pack(b, 0x3000, "a\x00b\x00", cut)
	want := []Found{
		{Addr: 0x1000, Read: true, Bytes: []byte("/bin/true"), Certainty: Near}, {Certainty: Near}, {Addr: 0x2000, Certainty: Near},
		{Addr: 0x3000, Read: true, Bytes: []byte("a\x00b\x00"), Cut: true, Certainty: Near},
	}
	if got := unpack(b, Near); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(pack(nil, 1, "text", whole), 2, "", unread))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for _, found := range unpack(data, Exact) {
			n += len(found.Bytes) + trailer
		}
		if n > len(data) {
			t.Errorf("%d bytes of %d", n, len(data))
		}
	})
}

func TestTheVisitorTakesItsOwnConfigurationOnly(t *testing.T) {
	all := []Event{{Pointers: []Pointer{{Offset: 16, Vector: true, Limit: 100}}, Saves: []Pointer{{Saved: 1, InRegister: true, Register: 5}}}}
	config, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVisitors()(config)
	if err != nil || !reflect.DeepEqual(v.(*visitor).events, all) {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := NewVisitors()([]byte("junk")); err == nil {
		t.Error("junk is taken")
	}
}
