package uprobe

import (
	"errors"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestMemoryAtAnOffsetOfTheFileIsReadBesideTheInstruction(t *testing.T) {
	for fetch, want := range map[string]string{
		"@+0x2000:u32":        "+4096(" + instructionPointer() + "):u32",
		"@+5:u8":              "-4091(" + instructionPointer() + "):u8",
		"@+-16":               "-4112(" + instructionPointer() + ")",
		"+8(@+8192):string":   "+8(+4096(" + instructionPointer() + ")):string",
		"@+4096:x32":          "+0(" + instructionPointer() + "):x32",
		"@0x4a40d0:u32":       "@0x4a40d0:u32",
		"@+some":              "@+some",
		"+0(%di):u32":         "+0(%di):u32",
		"@symbol":             "@symbol",
		"@+99999999999999999": "+99999999999995903(" + instructionPointer() + ")",
	} {
		s := Site{Offset: 0x1000, Args: []ftrace.FetchArg{{Name: "v", Fetch: fetch}}}
		args, err := s.kernelArgs()
		if err != nil || args[0].Fetch != want {
			t.Errorf("%s: %v, %v, want %s", fetch, args, err, want)
		}
	}
}

func TestMemoryAtAnOffsetOfTheFileIsRefusedWhereOldKernelsMisreadIt(t *testing.T) {
	s := Site{Return: true, Args: []ftrace.FetchArg{{Name: "v", Fetch: "@+0x2000:u32"}}}
	args, err := s.kernelArgs()
	if readsFileOffsets() {
		if err != nil || args[0].Fetch != s.Args[0].Fetch {
			t.Errorf("%v, %v", args, err)
		}
		return
	}
	if !errors.Is(err, errFileOffset) {
		t.Errorf("%v, %v, want %v", args, err, errFileOffset)
	}
}
