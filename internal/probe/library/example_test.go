package library_test

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ringtap/ringtap/internal/probe/library"
)

func ExampleFind() {
	target, err := library.Find("sh", library.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.File.Close()
	fmt.Println(filepath.Base(target.Path))

	_, err = library.Find("libthere-is-none", library.Options{})
	var none *library.NotFoundError
	fmt.Println(errors.As(err, &none))
	// Output:
	// sh
	// true
}
