package serverclock_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// exact is how much the returned time may be wrong.
const exact = 3 * time.Second

// ahead is how much time was skipped.
func ahead(c *serverclock.Clock) time.Duration {
	_, d := c.Read()
	return d
}

// TestTimeIsTheServers: whatever the clock of the process says, and however long
// answers take, the time is the API server's, and it never jumps while both clocks run.
func TestTimeIsTheServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		off := time.Duration(rapid.Int64Range(-int64(100*time.Hour), int64(100*time.Hour)).Draw(t, "the process is ahead by"))
		own := testclock.NewFakeClock(epoch.Add(off))
		server := func() time.Time { return own.Now().Add(-off) }
		clk := serverclock.New(own, logr.Discard())
		ask := func() {
			sent := own.Now()
			own.Step(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "the question takes")))
			date := server().Truncate(time.Second)
			own.Step(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "the answer takes")))
			clk.Answered(sent, date)
		}
		ask()
		if off.Abs() <= serverclock.Slack && ahead(clk) != 0 {
			t.Fatalf("a clock that is good enough is corrected by %v", ahead(clk))
		}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			ask()
		}
		if wrong := clk.Now().Sub(server()).Abs(); wrong > exact+20*time.Second {
			t.Fatalf("%v off", wrong)
		}
		sent := own.Now()
		clk.Answered(sent, server().Truncate(time.Second))
		if wrong := clk.Now().Sub(server()).Abs(); wrong > exact {
			t.Fatalf("%v off after an answer at once", wrong)
		}
		told, skipped := clk.Read()
		for range 20 {
			own.Step(time.Minute)
			clk.Answered(own.Now(), server().Truncate(time.Second))
		}
		if d := clk.Since(told); d != 20*time.Minute || ahead(clk) != skipped {
			t.Fatalf("20 minutes took %v, %v more than before are skipped", d, ahead(clk)-skipped)
		}
	})
}

// TestTimeGoesOnBetweenAnswers by the monotonic clock.
func TestTimeGoesOnBetweenAnswers(t *testing.T) {
	began := time.Now()
	clk := serverclock.New(clock.RealClock{}, logr.Discard())
	clk.Answered(time.Now(), began.Add(-time.Hour))
	first := clk.Now()
	time.Sleep(20 * time.Millisecond)
	if d := clk.Since(first); d < 20*time.Millisecond || d > time.Minute || clk.Now().After(began) || ahead(clk) > -59*time.Minute {
		t.Errorf("20 ms took %v, now is %v, %v skipped", d, clk.Now(), ahead(clk))
	}
}

// TestSleep: what a suspended machine slept is skipped time.
func TestSleep(t *testing.T) {
	own := testclock.NewFakeClock(epoch)
	clk := serverclock.New(own, logr.Discard())
	own.Step(time.Minute)
	clk.Answered(own.Now(), own.Now().Add(time.Hour).Truncate(time.Second))
	if d := ahead(clk); d < time.Hour-exact || d > time.Hour {
		t.Errorf("%v skipped of an hour", d)
	}
}

// TestSeveralServers: those of one cluster do not agree to the second, and nothing
// jumps for that.
func TestSeveralServers(t *testing.T) {
	own := testclock.NewFakeClock(epoch)
	clk := serverclock.New(own, logr.Discard())
	for i := range 10 {
		own.Step(time.Second)
		clk.Answered(own.Now(), own.Now().Add(time.Duration(i%3-1)*2*time.Second).Truncate(time.Second))
	}
	if ahead(clk) != 0 {
		t.Errorf("%v", ahead(clk))
	}
}

// TestAnswersAreHeard: every answer of an API server has a date, and a clock that is far off is reported
// once.
func TestAnswersAreHeard(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	told := 0
	clk := serverclock.New(testclock.NewFakeClock(time.Now().Add(time.Hour)), funcr.New(func(string, string) { told++ }, funcr.Options{}))
	c := http.Client{Transport: clk.Wrap(http.DefaultTransport)}
	for range 3 {
		answer, err := c.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if wrong := time.Until(clk.Now()).Abs(); wrong > time.Minute || told != 1 {
		t.Errorf("%v off, told %d times", wrong, told)
	}
	s.Close()
	if _, err := c.Get(s.URL); err == nil { //nolint:bodyclose // There is no body.
		t.Error("there is no server, and no error")
	}
}
