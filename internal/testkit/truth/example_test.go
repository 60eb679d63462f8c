package truth_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

func Example() {
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	built, err := truth.Named("go").Compile(dir)
	if missing := (*compiled.MissingError)(nil); errors.As(err, &missing) {
		return // the go command is not on the PATH
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range built.Chain {
		fmt.Println(name)
	}
	stack := append([]string{"runtime.goexit", "runtime.main"}, built.Chain...)
	fmt.Println(built.Match(stack))
	// Output:
	// main.main
	// main.outer
	// main.(*walker).step
	// main.outer.func1
	// main.leaf
	// <nil>
}
