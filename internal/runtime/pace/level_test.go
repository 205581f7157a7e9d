package pace

import (
	"container/heap"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// server is an API server that is distance away and answers perSecond writes, one after another.
type server struct {
	distance  time.Duration
	perSecond int
}

// crowd are workers that always have a write to send to a server.
type crowd struct {
	now    time.Time
	line   *line
	server server
	// free is when the server has answered all that it has.
	free  time.Time
	under ends
	waits int
}

// flight is a write under way.
type flight struct{ began, ended time.Time }

type ends []flight

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].ended.Before(e[j].ended) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(flight)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// works lets the crowd send for so long, and returns how many writes were answered in each second, and how long the last of them waited at
// the server.
func (c *crowd) works(d time.Duration) (perSecond []int, waited time.Duration) {
	perSecond = make([]int, d/time.Second)
	for end, began := c.now.Add(d), c.now; ; {
		for ; c.waits > 0 && c.line.level.allows(c.line.under); c.waits-- {
			if c.free.Before(c.now) {
				c.free = c.now
			}
			c.free = c.free.Add(time.Second / time.Duration(c.server.perSecond))
			heap.Push(&c.under, flight{c.now, c.free.Add(c.server.distance)})
			c.line.under++
		}
		f := heap.Pop(&c.under).(flight)
		if !f.ended.Before(end) {
			heap.Push(&c.under, f)
			c.now = end
			return perSecond, waited
		}
		c.now, c.waits = f.ended, c.waits+1
		c.line.end(reply{began: f.began, ended: f.ended, answered: true})
		perSecond[f.ended.Sub(began)/time.Second]++
		waited = f.ended.Sub(f.began) - c.server.distance
	}
}

// TestLevelIsFoundWithinSeconds: whatever the API server answers and however far it is, 200 workers have it busy within three seconds, and
// wait there no longer than a few tenths of a second, also when it becomes weaker or stronger meanwhile.
func TestLevelIsFoundWithinSeconds(t *testing.T) {
	c := &crowd{now: time.Unix(0, 0), line: newLine(), waits: 200}
	for _, tc := range []struct {
		reason string
		server server
		// longest is how long a write may wait there at the end.
		longest time.Duration
	}{
		{"near, 500 a second", server{time.Millisecond, 500}, 500 * time.Millisecond},
		{"ten times weaker", server{time.Millisecond, 50}, 400 * time.Millisecond},
		{"strong", server{time.Millisecond, 3000}, 150 * time.Millisecond},
		{"as strong, and far", server{150 * time.Millisecond, 1000}, 200 * time.Millisecond},
		{"far and weak", server{150 * time.Millisecond, 100}, 400 * time.Millisecond},
		{"near again", server{time.Millisecond, 500}, 500 * time.Millisecond},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			moved := tc.server.distance != c.server.distance
			c.server = tc.server
			if moved { // what was fastest is forgotten first
				c.works(2 * window)
			}
			perSecond, waited := c.works(10 * time.Second)
			// so many, each of which takes the distance
			most := min(float64(tc.server.perSecond), 200/max(tc.server.distance, time.Millisecond).Seconds())
			for second, n := range perSecond[3:] {
				if float64(n) < 0.9*most {
					t.Errorf("second %d: %d writes were answered, want %.0f", second+3, n, most)
				}
			}
			if waited > tc.longest {
				t.Errorf("the last write waited for %s at the server, %.0f may be under way", waited, c.line.level.limit)
			}
		})
	}
}

// answers answers each request with code after a while; without a code it fails.
type answers struct {
	code   int
	after  time.Duration
	header http.Header
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(a.after)
	if a.code == 0 {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: a.code, Header: a.header, Body: http.NoBody}, nil
}

// TestWhatLevelLearns: from an answer that takes longer than others of its kind, or refuses for too much load; not from one that a budget
// refuses, nor from none.
func TestWhatLevelLearns(t *testing.T) {
	const machine, evict = "/apis/g/v1/namespaces/a/machines/m", "/api/v1/namespaces/a/pods/p/eviction"
	for _, tc := range []struct {
		reason string
		path   string
		rt     answers
		want   func(limit float64) bool
	}{
		{"in time", machine, answers{code: http.StatusOK, after: time.Millisecond}, func(l float64) bool { return l > first }},
		{"late", machine, answers{code: http.StatusOK, after: patience + 2*time.Millisecond}, func(l float64) bool { return l < first }},
		{"slow, as all of its kind", "/apis/g/v1/namespaces/a/sets/m", answers{code: http.StatusOK, after: farthest}, func(l float64) bool { return l > first }},
		{"refused for load", machine, answers{code: http.StatusTooManyRequests}, func(l float64) bool { return l == first/2 }},
		{"refused by a budget", evict, answers{code: http.StatusTooManyRequests}, func(l float64) bool { return l > first }},
		{"no answer", machine, answers{after: time.Minute}, func(l float64) bool { return l == first }},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine()
				send := func(rt answers) {
					if answer, err := (tripper{rt, l}).RoundTrip(write(t.Context(), http.MethodPatch, tc.path)); err == nil {
						_ = answer.Body.Close()
					}
				}
				if tc.path == machine { // the fastest of its kind
					send(answers{code: http.StatusOK, after: time.Millisecond})
				}
				l.level.limit, l.under = first, first-1
				send(tc.rt)
				if !tc.want(l.level.limit) || l.under != first-1 {
					t.Errorf("%.2f may be under way and %d are", l.level.limit, l.under)
				}
			})
		})
	}
}

// TestRefusalsOfOneOverload: a refusal halves the level once until the API server lets itself be asked again.
func TestRefusalsOfOneOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		l.level.limit = 256
		refuse := func(header http.Header) float64 {
			answer, err := tripper{answers{code: http.StatusTooManyRequests, header: header}, l}.RoundTrip(write(t.Context(), http.MethodPost, "/api/v1/nodes"))
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			return l.level.limit
		}
		if got := refuse(http.Header{"Retry-After": {"5"}}); got != 128 {
			t.Errorf("after a refusal %.0f may be under way, want 128", got)
		}
		time.Sleep(4 * time.Second)
		if got := refuse(nil); got != 128 {
			t.Errorf("four seconds later %.0f, want 128 still", got)
		}
		time.Sleep(2 * time.Second)
		if got := refuse(nil); got != 64 {
			t.Errorf("after the time to come again %.0f, want 64", got)
		}
	})
}

// TestAnIdleLevelDoesNotGrow: answers to few writes do not show that more would be answered in time.
func TestAnIdleLevelDoesNotGrow(t *testing.T) {
	l := newLevel()
	for i := range 10_000 {
		at := time.Unix(int64(i), 0)
		l.learn(reply{began: at, ended: at.Add(time.Millisecond), answered: true}, first/4)
	}
	if l.limit != first {
		t.Errorf("%.1f may be under way", l.limit)
	}
}

// TestTheFastestIsForgotten: where the API server moves away, what it could do before stops counting within ten minutes.
func TestTheFastestIsForgotten(t *testing.T) {
	var f fastest
	at := time.Unix(1000, 0)
	for _, tc := range []struct{ after, took, want time.Duration }{
		{0, 5 * time.Millisecond, 5 * time.Millisecond},
		{time.Second, 200 * time.Millisecond, 5 * time.Millisecond},
		{window + time.Second, 200 * time.Millisecond, 5 * time.Millisecond},
		{window + 2*time.Second, 150 * time.Millisecond, 5 * time.Millisecond},
		{2*window + 2*time.Second, 200 * time.Millisecond, 150 * time.Millisecond},
		{5 * window, 200 * time.Millisecond, 200 * time.Millisecond},
	} {
		if got := f.note(at.Add(tc.after), tc.took); got != tc.want {
			t.Errorf("after %s the fastest answer took %s, want %s", tc.after, got, tc.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/nodes/n":                                "nodes",
		"/api/v1/nodes/n/status":                         "nodes/status",
		"/api/v1/namespaces":                             "namespaces",
		"/api/v1/namespaces/a":                           "namespaces",
		"/api/v1/namespaces/a/pods/p/eviction":           eviction,
		"/apis/g/v1/namespaces/a/machines":               "machines",
		"/apis/g/v1/namespaces/a/machines/m/status":      "machines/status",
		"/prefix/apis/g/v1/namespaces/a/machines/m/what": "machines/what",
		"/": "", "/version": "",
	} {
		if got := kindOf(write(t.Context(), http.MethodPost, path)); got != (kind{http.MethodPost, want}) {
			t.Errorf("%s is of kind %v, want %s", path, got, want)
		}
	}
}
