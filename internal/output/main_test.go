package output

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/hermetic"
)

func TestMain(m *testing.M) {
	hermetic.Set()
	os.Exit(m.Run())
}
