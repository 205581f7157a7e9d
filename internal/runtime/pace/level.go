package pace

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An answer is late if it takes patience longer than the fastest recent answer of its kind: the fastest shows
// the distance to the API server and the time of its webhooks, and the rest is the time that the write waited
// there. If all answers are slow, the fastest is slow, too, so it excuses at most farthest. Each answer in
// time raises the number of writes in progress by grow, and each late one lowers it by shrink, more if it is
// later, so that one in five is late if more writes are wanted, and the limit doubles or halves within some
// twenty rounds of answers. A refusal because of too much load halves it at once, but not again before the
// time that the API server gave for a retry.
const (
	patience = 100 * time.Millisecond
	farthest = 300 * time.Millisecond
	grow     = 0.05
	shrink   = 0.2
	// mostLate limits the lateness of an answer, in multiples of patience.
	mostLate = 5
	first    = 32
	least    = 16
	most     = 400
	// window is how long the fastest answer counts, and as long again until another replaces it.
	window = 5 * time.Minute
)

// level is how many writes may be in progress.
type level struct {
	limit float64
	// fastest has the fastest answers, by kind.
	fastest map[kind]*fastest
	// overloadUntil is the time until which a further refusal belongs to the same overload.
	overloadUntil time.Time
}

func newLevel() level { return level{limit: first, fastest: map[kind]*fastest{}} }

// allows reports whether another write may begin while so many are in progress.
func (l *level) allows(under int) bool { return float64(under) < l.limit }

// reply is the result of a write.
type reply struct {
	kind         kind
	began, ended time.Time
	// answered: there was an answer, of any kind. Without an answer nothing is learned.
	answered bool
	// retryAfter is how long to wait after a server refused the write because of too much load; 0: it did not.
	retryAfter time.Duration
}

// learn adapts the level to the result of a write that ended while so many, including itself, were in
// progress. A level that is not used is not tested, and does not grow.
func (l *level) learn(r reply, under int) {
	switch {
	case !r.answered:
	case r.retryAfter > 0:
		if r.began.After(l.overloadUntil) {
			l.limit, l.overloadUntil = max(l.limit/2, least), r.ended.Add(r.retryAfter)
		}
	default:
		if late := l.lateness(r); late > 0 {
			l.limit = max(l.limit-shrink*float64(late), least)
		} else if float64(under+1) >= l.limit {
			l.limit = min(l.limit+grow, most)
		}
	}
}

// lateness returns how many times patience an answer is later than the fastest, up to mostLate.
func (l *level) lateness(r reply) int64 {
	f := l.fastest[r.kind]
	if f == nil {
		f = &fastest{}
		l.fastest[r.kind] = f
	}
	took := r.ended.Sub(r.began)
	waited := took - min(f.note(r.ended, took), farthest)
	return min(int64(waited/patience), mostLate)
}

// fastest is the fastest answer of the last window, and of the window before.
type fastest struct {
	last, before time.Duration
	since        time.Time
}

// note records an answer, and returns the fastest.
func (f *fastest) note(now time.Time, took time.Duration) time.Duration {
	switch age := now.Sub(f.since); {
	case age > 2*window:
		f.last, f.before, f.since = took, took, now
	case age > window:
		f.last, f.before, f.since = took, f.last, now
	}
	f.last = min(f.last, took)
	return min(f.last, f.before)
}

// kind is a kind of writes with similar durations: a method, and a resource with its subresource.
type kind struct{ method, resource string }

// kindOf parses the path of r, which is api/v1 or apis/GROUP/VERSION, after the prefix of a proxy if there is
// one, and then namespaces/NAMESPACE for namespaced resources, RESOURCE, NAME and SUBRESOURCE.
func kindOf(r *http.Request) kind {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if i := slices.IndexFunc(parts, func(s string) bool { return s == "api" || s == "apis" }); i < 0 {
		parts = nil
	} else {
		skip := map[string]int{"api": 2, "apis": 3}[parts[i]]
		parts = parts[min(i+skip, len(parts)):]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	k := kind{method: r.Method}
	if len(parts) > 0 {
		k.resource = parts[0]
	}
	if len(parts) > 2 {
		k.resource += "/" + parts[2]
	}
	return k
}

// A disruption budget refuses an eviction with the same code, which does not depend on the load.
const eviction = "pods/eviction"

// retryAfter returns how long to wait after a server refused a write of this kind because of too much load;
// 0: it did not refuse it for that.
func retryAfter(k kind, answer *http.Response) time.Duration {
	if answer == nil || answer.StatusCode != http.StatusTooManyRequests || k.resource == eviction {
		return 0
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // it may be a date, too, or absent
	return max(time.Duration(seconds)*time.Second, time.Second)
}
