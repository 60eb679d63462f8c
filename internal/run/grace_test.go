package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilesAreReadForTenSecondsAfterTheEnd(t *testing.T) {
	const duration = time.Hour
	for _, test := range []struct {
		name     string
		duration time.Duration
		canceled time.Duration // when the context is canceled
		want     time.Duration
	}{
		{"ended by the user", 0, time.Minute, time.Minute + grace},
		{"ended by the user before its duration", duration, time.Minute, time.Minute + grace},
		{"ended by its duration", duration, 2 * duration, duration + grace},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began := time.Now()
			late, stop := Late(ctx, test.duration, nil)
			defer stop()
			time.AfterFunc(test.canceled, cancel)
			<-late
			if got := time.Since(began); got != test.want {
				t.Errorf("%s: late after %v, want %v", test.name, got, test.want)
			}
		})
	}
}

func TestAStoppedRunIsNeverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		late, stop := Late(ctx, time.Second, nil)
		stop()
		cancel()
		time.Sleep(time.Hour)
		select {
		case <-late:
			t.Error("late after its end")
		default:
		}
	})
}
