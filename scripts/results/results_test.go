package results

import (
	"strings"
	"testing"
)

func TestOutputThatIsNotOfGoTestIsAnError(t *testing.T) {
	if err := New(&strings.Builder{}).Read(strings.NewReader("{\"Action\":\"run\"}\nno json")); err == nil {
		t.Error("read = nil; want an error")
	}
}
