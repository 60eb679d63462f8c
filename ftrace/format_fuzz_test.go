package ftrace

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzParseFormat(f *testing.F) {
	paths, err := filepath.Glob("testdata/formats/*")
	if err != nil || len(paths) == 0 {
		f.Fatal(len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: x\nID: 99999999999\nformat:\n"))
	f.Add([]byte("name: x\n\tfield:u8 a[];\toffset:65535;\tsize:9;\tsigned:1;\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		format, err := ParseFormat(text)
		if err != nil {
			return
		}
		for _, field := range format.Fields {
			if field.Offset < 0 || field.Size < 0 || field.Offset+field.Size > maxRecord || field.Name == "" {
				t.Errorf("field %+v", field)
			}
			if format.Field(field.Name) == nil {
				t.Errorf("no field %q", field.Name)
			}
		}
	})
}
