// Command guest runs in a guest of the VM runner. As /init it is the first process,
// which mounts file systems and runs what wire.Spec says. Under the name of a compiler
// or another tool, it lets the host run that tool.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

func main() {
	if os.Getpid() == 1 {
		first()
		return
	}
	spec, err := readSpec()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	if len(os.Args) == 2 && os.Args[1] == bootArgument {
		boot(spec)
		return
	}
	code, err := remoteTool(spec, filepath.Base(os.Args[0]), os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s on the host: %v\n", os.Args[0], err)
		code = 125
	}
	os.Exit(code)
}

func readSpec() (wire.Spec, error) {
	var spec wire.Spec
	text, err := os.ReadFile(wire.SpecFile)
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	return spec, err
}
