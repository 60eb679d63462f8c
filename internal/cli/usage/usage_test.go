package usage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/usage"
)

func TestAnErrorKeepsItsTextAndItsCause(t *testing.T) {
	err := fmt.Errorf("io: %w", usage.Errorf("--by %s: %w", "x", fs.ErrInvalid))
	var wrong *usage.Error
	if !errors.As(err, &wrong) || wrong.Error() != "--by x: invalid argument" || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
