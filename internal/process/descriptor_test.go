package process

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAnFdinfoFileTellsWhatADescriptorIs(t *testing.T) {
	tests := []struct {
		text string
		want DescriptorInfo
	}{
		{"pos:\t77\nflags:\t02100002\nmnt_id:\t29\nino:\t1234\n", DescriptorInfo{Position: 77, Flags: 02100002, Inode: 1234}},
		{"flags:\t02\ntfd:       10 events:       19 data: ffffffff  pos:0 ino:9 sdev:e\ntfd:        7 events: 1\n",
			DescriptorInfo{Flags: unix.O_RDWR, Watched: []int{10, 7}}},
		{"lock:\t1: FLOCK  ADVISORY  WRITE 100 08:01:42 0 EOF\n",
			DescriptorInfo{Locks: []string{"1: FLOCK  ADVISORY  WRITE 100 08:01:42 0 EOF"}}},
		{"flags: x\ntfd:\nino\n", DescriptorInfo{}},
	}
	for _, test := range tests {
		if got := parseDescriptorInfo(test.text); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q:\n got %+v\nwant %+v", test.text, got, test.want)
		}
	}
}

func FuzzParseDescriptorInfo(f *testing.F) {
	f.Add("pos:\t0\nflags:\t02100002\nino:\t1234\ntfd: 10 events: 19\nlock:\t1: FLOCK\n")
	f.Fuzz(func(t *testing.T, text string) {
		if info := parseDescriptorInfo(text); len(info.Watched)+len(info.Locks) > len(text) {
			t.Errorf("%q has %d descriptors and %d locks", text, len(info.Watched), len(info.Locks))
		}
	})
}
