package readyourwrites

import (
	"testing"
	"time"
)

func TestRecent(t *testing.T) {
	var r Recent
	begun := time.Unix(1000, 0)
	for _, after := range []time.Duration{0, time.Second, 2 * time.Second} {
		r.Note(begun.Add(after))
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{2 * time.Second, 3}, {4 * time.Second, 2}, {time.Minute, 0}} {
		if got := r.Within(begun.Add(c.after), 3*time.Second); got != c.want {
			t.Errorf("after %s: %d, want %d", c.after, got, c.want)
		}
	}
}
