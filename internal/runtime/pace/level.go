package pace

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An answer is late that takes patience longer than the fastest of its kind did lately: that one shows how far the API server is, and how
// long its webhooks take, and the rest is the time that the write waited there. Where all wait for long, the fastest waits, too, so that it
// excuses no more than farthest. Each answer in time lets grow more writes be under way, and each late one shrink fewer, more where it is
// later, so that one in five is late where more are wanted, and the bound doubles or halves within some twenty rounds of answers. A refusal
// for too much load halves it at once, no more often than the API server says when to come again.
const (
	patience = 100 * time.Millisecond
	farthest = 300 * time.Millisecond
	grow     = 0.05
	shrink   = 0.2
	// mostLate bounds how many times patience an answer counts as late.
	mostLate = 5
	first    = 32
	least    = 16
	most     = 400
	// window is how long the fastest answer counts, and as long again until another takes its place.
	window = 5 * time.Minute
)

// level is how many writes may be under way.
type level struct {
	limit float64
	// fastest are the fastest answers, by kind.
	fastest map[kind]*fastest
	// overloadUntil is until when a further refusal is one of the same overload.
	overloadUntil time.Time
}

func newLevel() level { return level{limit: first, fastest: map[kind]*fastest{}} }

// allows reports whether another write may begin while so many are under way.
func (l *level) allows(under int) bool { return float64(under) < l.limit }

// reply is what came of a write.
type reply struct {
	kind         kind
	began, ended time.Time
	// answered: there was an answer, of whatever kind. What has none says nothing.
	answered bool
	// retryAfter is after what time a server that refused the write for too much load may be asked again; 0: it did not refuse.
	retryAfter time.Duration
}

// learn adapts the level to what came of a write that ended while so many were under way, itself included. A level that is not used is not
// tried, and does not grow.
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

// lateness is how many times patience an answer is later than it could be, up to mostLate.
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

// fastest is the fastest answer of the last window, and of the one before.
type fastest struct {
	last, before time.Duration
	since        time.Time
}

// note adds an answer, and returns the fastest.
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

// kind is a kind of writes that take alike: a method, and a resource with its subresource.
type kind struct{ method, resource string }

// kindOf looks at the path of r, which is api/v1 or apis/GROUP/VERSION, behind a prefix where a proxy has one, and then
// namespaces/NAMESPACE where there is one, RESOURCE, NAME and SUBRESOURCE.
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

// eviction is refused with the same code by a disruption budget, which says nothing of the load.
const eviction = "pods/eviction"

// retryAfter is after what time a server that refused a write of this kind for too much load may be asked again; 0: it did not refuse it for
// that.
func retryAfter(k kind, answer *http.Response) time.Duration {
	if answer == nil || answer.StatusCode != http.StatusTooManyRequests || k.resource == eviction {
		return 0
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // it may be a date, too, or absent
	return max(time.Duration(seconds)*time.Second, time.Second)
}
