package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestABlockDeviceIsFoundByItsNameAndItsNumber(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"vda/dev": "254:0\n", "vda/size": "536870912\n",
		"vda1/dev": "254:1\n", "vda1/size": "1024\n", "vda1/partition": "1\n",
		"cciss!c0d0/dev": "104:0\n", "cciss!c0d0/size": "8\n",
		"loop0/dev": "7:0\n", "loop0/size": "0\n",
		"gone/size": "", // it goes just now
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const there = ` is neither the name nor the number MAJOR,MINOR of a block device; there are cciss!c0d0 (104,0), vda (254,0)`
	for _, test := range []struct{ text, number, err string }{
		{"254,0", "254,0", ""},
		{"vda", "254,0", ""},
		{"/dev/vda", "254,0", ""},
		{"/dev/cciss/c0d0", "104,0", ""},
		{"loop0", "7,0", ""}, // which may get a file
		{"vda1", "", `"vda1" is a partition: requests have the number of its disk`},
		{"254,1", "", `"254,1" is a partition: requests have the number of its disk`},
		{"2", "", `"2"` + there},
		{"254,7", "", `"254,7"` + there},
		{"gone", "", `"gone"` + there},
		{"..", "", `".."` + there},
	} {
		number, err := blockDevice(dir, test.text)
		if number != test.number || err == nil && test.err != "" || err != nil && err.Error() != test.err {
			t.Errorf("%s: %q, %v; want %q, %q", test.text, number, err, test.number, test.err)
		}
	}
	if _, err := blockDevice(t.TempDir(), "vda"); err == nil || err.Error() != `"vda" is neither the name nor the number MAJOR,MINOR of a block device; there are none` {
		t.Errorf("without devices: %v", err)
	}
}
