package disruption

import (
	"context"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/runtime/prometheus"
)

// Server says where the Prometheus server is.
type Server = prometheus.Flags

// Prometheus evaluates queries.
type Prometheus interface {
	// HasSamples reports whether the query returns at least one sample now. It ends within seconds.
	HasSamples(ctx context.Context, query string) (bool, error)
}

// queries asks the Prometheus server in the background: a server that hangs delays no machine of other budgets. Answers are stored in the
// status of budgets, so that all processes, and users, see the same.
type queries struct {
	server Prometheus

	mu sync.Mutex
	// answers are the answers of this process, by query; asking are the queries without an answer yet.
	answers map[string]v1alpha1.QueryStatus
	asking  map[string]bool
}

func newQueries(p Prometheus) *queries {
	return &queries{server: p, answers: map[string]v1alpha1.QueryStatus{}, asking: map[string]bool{}}
}

const (
	// askAgainAfter is how long this process uses its own answer.
	askAgainAfter = 10 * time.Second
	// mostAnswers bounds the number of answers: budgets may have been deleted.
	mostAnswers = 200
	// longestError bounds the text of an error in the status, in bytes.
	longestError = 512
)

// observe stores the answers to the queries of a budget whose stored answers are old, and asks for new ones. It does not wait for them.
func (q *queries) observe(b *v1alpha1.MachineDisruptionBudget, now time.Time) {
	for _, text := range disruption.Unasked(b, now) {
		if a, known := q.answer(text, now); known {
			disruption.ObserveQuery(b, a)
		}
	}
}

// answer returns the last answer, and asks again if that is old.
func (q *queries) answer(text string, now time.Time) (a v1alpha1.QueryStatus, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a, known = q.answers[text]
	if known && now.Sub(a.At.Time) <= askAgainAfter || q.asking[text] {
		return a, known
	}
	if q.server == nil {
		return failed(text, now, prometheus.ErrNoServer), true
	}
	q.asking[text] = true
	go func() {
		samples, err := q.server.HasSamples(context.Background(), text)
		got := v1alpha1.QueryStatus{Query: text, Samples: samples, At: at(now)}
		if err != nil {
			got = failed(text, now, err)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.answers) >= mostAnswers {
			clear(q.answers)
		}
		q.answers[text] = got
		delete(q.asking, text)
	}()
	return a, known
}

// failed is the answer to a query without one: the limits with it apply.
func failed(text string, now time.Time, err error) v1alpha1.QueryStatus {
	why := err.Error()
	why = strings.ToValidUTF8(why[:min(len(why), longestError)], "")
	return v1alpha1.QueryStatus{Query: text, Samples: true, At: at(now), Error: why}
}

func at(now time.Time) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }
