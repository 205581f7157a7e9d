package live

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Change is what a watcher applies to the fleet that it shows.
type Change struct {
	// At is the time of the cluster that the rows are of.
	At time.Time `json:"at"`
	// Whole says that the rows are all rows, and not only those that changed.
	Whole bool  `json:"whole,omitempty"`
	Rows  []Row `json:"rows,omitempty"`
	// Removed are the IDs of objects that do not exist any more.
	Removed []string `json:"removed,omitempty"`
	// Gaps name the facts that could not be read, and why; Controllers are the controllers that do not run.
	Gaps        []string         `json:"gaps"`
	Controllers []explain.Answer `json:"controllers"`
	// Budgets are the machine disruption budgets, the most severe first.
	Budgets []budgets.Row `json:"budgets"`
	// Departed are the deleted machines of the last 24 hours that are new or have changed, the newest first.
	Departed []Departed `json:"departed,omitempty"`
}

// leasesAge is how often the feed reads leases.
const leasesAge = 15 * time.Second

// feed keeps the rows of the fleet and sends their changes to its watchers.
type feed struct {
	clusters collect.Clusters
	question collect.Question
	clock    clock.Clock
	// problems are the reasons why the readers' answers may be old.
	problems func() []string
	// changed has a value if an object changed since the last look.
	changed chan struct{}

	mu          sync.Mutex
	rows        map[string]Row
	gaps        []string
	controllers []explain.Answer
	watchers    map[chan Change]bool
	tracks      tracks
	limits      limits
	departed    departed

	// leasesRead is when the controllers were looked up; only run uses it.
	leasesRead time.Time
}

func newFeed(c collect.Clusters, q collect.Question, clk clock.Clock) *feed {
	return &feed{clusters: c, question: q, clock: clk, problems: func() []string { return nil }, changed: make(chan struct{}, 1), watchers: map[chan Change]bool{}, tracks: tracks{}}
}

// notify says that an object changed.
func (f *feed) notify() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// run looks at the fleet after each change, until ctx ends.
func (f *feed) run(ctx context.Context) {
	for began := f.clock.Now(); ; began = f.clock.Now() {
		f.look(ctx)
		if !Await(ctx, f.clock, f.changed, f.clock.Since(began)) {
			return
		}
	}
}

// look explains the fleet, and sends the changes.
func (f *feed) look(ctx context.Context) {
	now := f.clock.Now()
	all, gaps, _ := collect.Brief(ctx, now, f.clusters, f.question) // if nothing could be read, each kind has a gap
	if ctx.Err() != nil {
		return
	}
	rows := make(map[string]Row, len(all))
	for _, e := range all {
		r := rowOf(now, e)
		rows[r.ID] = r
	}
	texts := slices.Compact(f.problems())
	for _, g := range gaps {
		texts = append(texts, g.Text)
		f.keep(rows, g)
	}
	if err := f.readBudgets(ctx, now); err != nil {
		texts = append(texts, err.Error())
	}
	f.departing(all)
	texts = append(texts, f.readDepartures(ctx, now)...)
	f.publish(now, rows, texts, f.inactive(ctx, now, all))
	f.sample(now, all)
}

func (f *feed) inactive(ctx context.Context, now time.Time, all []collect.Explained) []explain.Answer {
	if now.Sub(f.leasesRead) < leasesAge {
		return f.controllers
	}
	f.leasesRead = now
	return collect.Inactive(ctx, now, f.clusters, f.question, all)
}

// keep adds the known rows of a kind that could not be listed: an object that was not shown may exist.
func (f *feed) keep(rows map[string]Row, unread collect.Gap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, r := range f.rows {
		if unread.Kind != "" && r.API == unread.API && r.Kind == unread.Kind {
			rows[id] = r
		}
	}
}

// publish stores the rows and sends the differences to all watchers. One that does not keep up is dropped: it
// subscribes again and starts from the whole.
func (f *feed) publish(now time.Time, rows map[string]Row, gaps []string, controllers []explain.Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := difference(f.rows, rows)
	f.mergeDeparted(now, rows)
	same := len(c.Rows)+len(c.Removed)+len(f.departed.changed) == 0 && slices.Equal(gaps, f.gaps) && reflect.DeepEqual(controllers, f.controllers) && !f.limits.news
	f.rows, f.gaps, f.controllers, f.limits.news = rows, gaps, controllers, false
	f.tracks.forget(rows)
	if same {
		return
	}
	c.At, c.Gaps, c.Controllers, c.Budgets, c.Departed = now, gaps, controllers, f.limits.rows, departedRows(f.departed.changed)
	for watcher := range f.watchers {
		select {
		case watcher <- c:
		default:
			close(watcher)
			delete(f.watchers, watcher)
		}
	}
}

// difference is the change from before to after, in the order of the rows' names.
func difference(before, after map[string]Row) (c Change) {
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[id]; !ok || !reflect.DeepEqual(old, after[id]) {
			c.Rows = append(c.Rows, after[id])
		}
	}
	for id := range before {
		if _, ok := after[id]; !ok {
			c.Removed = append(c.Removed, id)
		}
	}
	slices.Sort(c.Removed)
	return c
}

// subscribe returns a channel of changes, of which the first is the whole fleet. It is closed if its reader does
// not keep up. The function ends it.
func (f *feed) subscribe() (<-chan Change, func()) {
	watcher := make(chan Change, 16)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := difference(nil, f.rows)
	c.At, c.Whole, c.Gaps, c.Controllers, c.Budgets, c.Departed = f.clock.Now(), true, f.gaps, f.controllers, f.limits.rows, departedRows(f.departed.rows)
	watcher <- c
	f.watchers[watcher] = true
	return watcher, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, watcher)
	}
}
