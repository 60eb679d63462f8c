package run

import (
	"context"
	"testing"
)

func TestFilesAreReadForAWhileAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	late, stop := Late(ctx, nil)
	defer stop()
	cancel()
	select {
	case <-late:
		t.Error("no time at all")
	default:
	}
	<-late
}

func TestARunThatEndsByItselfWaitsForItsFiles(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	late, stop := Late(ctx, nil)
	stop()
	cancel()
	select {
	case <-late:
		t.Error("it is late after the run")
	default:
	}
}
