package allocator_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/internal/collect/allocator"
)

// The functions of the allocator that a command will use, each place once.
func ExampleFind() {
	found, err := allocator.Find(allocator.Where{Command: []string{"sh"}})
	if err != nil {
		log.Fatal(err)
	}
	defer found.Close()
	for _, probe := range found.All {
		if probe.Name == "realloc" {
			fmt.Printf("%s frees argument %d and allocates argument %d\n", probe.Name, probe.Pointer, probe.Size)
			break
		}
	}
	// Output: realloc frees argument 1 and allocates argument 2
}
