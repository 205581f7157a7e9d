package ui

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/act"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/drains"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/ui/pages"
)

// Page is what the page about one object shows.
type Page struct {
	At     time.Time      `json:"at"`
	Answer explain.Answer `json:"answer"`
	// UID is empty if the object does not exist.
	UID     string           `json:"uid,omitempty"`
	History *explain.History `json:"history,omitempty"`
	Node    *pages.Node      `json:"node,omitempty"`
	Rollout *pages.Rollout   `json:"rollout,omitempty"`
	Check   *pages.Check     `json:"check,omitempty"`
	Budget  *pages.Budget    `json:"budget,omitempty"`
	// Verdict says whether a drain of the machine's node would finish now.
	Verdict *pages.Verdict `json:"verdict,omitempty"`
	// Departed is a machine that does not exist any more.
	Departed *live.Departed `json:"departed,omitempty"`
	// Budgets are the machine disruption budgets that select a machine.
	Budgets []pages.Selecting `json:"budgets,omitempty"`
	// Drain is the drain of a machine's node that a user has ordered.
	Drain *drains.Progress `json:"drain,omitempty"`
	// Actions are empty unless the user allows them.
	Actions []act.Offer `json:"actions,omitempty"`
	YAML    string      `json:"yaml,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// objects tells open pages that an object changed, by its UID and its name.
type objects struct {
	mu    sync.Mutex
	pages map[chan struct{}]func(client.Object) bool
}

func newObjects() *objects { return &objects{pages: map[chan struct{}]func(client.Object) bool{}} }

// notify wakes the pages that the object concerns.
func (s *objects) notify(o client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for page, concerns := range s.pages {
		if concerns(o) {
			wake(page)
		}
	}
}

func (s *objects) subscribe(concerns func(client.Object) bool) (chan struct{}, func()) {
	page := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[page] = concerns
	return page, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pages, page)
	}
}

func wake(page chan struct{}) {
	select {
	case page <- struct{}{}:
	default:
	}
}

// object streams the page about the object that the query names, after each change of it, its owner's objects, its
// node, its events, and the pods of its node.
func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	v := r.URL.Query()
	q, err := questionOf(v.Get("kind"), v.Get("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q.API, q.Namespace = v.Get("api"), v.Get("namespace")
	var node atomic.Value // the name of the machine's node
	node.Store("")
	changed, end := s.objects.subscribe(func(o client.Object) bool {
		return q.Kind != "Machine" || o.GetName() == q.Name || o.GetName() == node.Load()
	})
	defer end()
	go s.watchEvents(ctx, q, changed)
	out := stream(w)
	for {
		began := s.options.Clock.Now()
		page := s.pageOf(ctx, q)
		if page.Node != nil && node.CompareAndSwap("", page.Node.Name) {
			go s.watchPods(ctx, page.Node.Name, changed)
		}
		if ctx.Err() != nil || out.send(encoded(page)) != nil {
			return
		}
		if !live.Await(ctx, s.options.Clock, changed, s.options.Clock.Since(began)) {
			return
		}
	}
}

// questionOf reads kind and name of an object.
func questionOf(kind, name string) (collect.Question, error) {
	if kind == budgets.Subject(name).Kind && name != "" {
		return collect.Question{Kind: kind, Name: name}, nil
	}
	return collect.Parse(kind + "/" + name)
}

func (s *Server) pageOf(ctx context.Context, q collect.Question) Page {
	now := s.options.Clock.Now()
	if q.Kind == budgets.Subject("").Kind {
		return s.budgetPage(ctx, now, q.Name)
	}
	clusters := s.fleet.Clusters
	if q.Kind == "Machine" {
		clusters.Departures = s.fleet.Departures()
	}
	d, err := collect.Details(ctx, now, clusters, q)
	if err != nil {
		return Page{At: now, Error: err.Error()}
	}
	p := Page{At: now, Answer: d.Answer, History: d.History, Node: pages.NodeOf(d), Verdict: pages.VerdictOf(now, s.fleet.Budgets(), d)}
	if d.Departure != nil {
		p.Departed = &live.Departed{Departure: *d.Departure, Words: d.Departure.Words()}
	}
	if d.Object != nil {
		p.UID = string(d.Object.GetUID())
		p.YAML = yamlOf(d.Object)
		p.Check = pages.CheckOf(d)
		p.Drain = s.drains.Of(d.Object.GetUID())
		p.Budgets = pages.SelectingOf(now, s.fleet.Budgets(), d)
		p.Actions = s.offers(now, d)
		p.Rollout = pages.RolloutOf(now, d, s.fleet.Samples(p.UID))
	}
	return p
}

func (s *Server) offers(now time.Time, d collect.Detail) []act.Offer {
	if s.options.ActionLog == nil {
		return nil
	}
	o := act.Object{Object: d.Object, Draining: s.drains.Underway(d.Object.GetUID())}
	if d.Node != nil {
		o.Node, o.Cordoned = d.Node.Name, d.Node.Spec.Unschedulable
	}
	if d.Deployed != nil {
		o.Sets = d.Deployed.Sets
	}
	return act.Offers(now, o)
}

// yamlOf is the object as `kubectl get -o yaml` prints it.
func yamlOf(o client.Object) string {
	shown := o.DeepCopyObject().(client.Object)
	shown.SetManagedFields(nil)
	text, err := yaml.Marshal(shown)
	if err != nil {
		return "# " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return string(text)
}

// watchEvents and watchPods wake a page until ctx ends. A user who may not watch them sees changes later, with the
// next change of another object.
func (s *Server) watchEvents(ctx context.Context, q collect.Question, changed chan struct{}) {
	selected := client.MatchingFields{"involvedObject.name": q.Name}
	watching(ctx, s.fleet.Clusters.Control, &corev1.EventList{}, changed, client.InNamespace(q.Namespace), selected)
}

func (s *Server) watchPods(ctx context.Context, node string, changed chan struct{}) {
	watching(ctx, s.fleet.Clusters.Target, &corev1.PodList{}, changed, client.MatchingFields{"spec.nodeName": node})
}

func watching(ctx context.Context, from client.Reader, list client.ObjectList, changed chan struct{}, opts ...client.ListOption) {
	r, ok := from.(client.WithWatch)
	for ok && ctx.Err() == nil {
		w, err := r.Watch(ctx, list, opts...)
		if err != nil {
			return
		}
		drainWatch(ctx, w, changed)
	}
}

// drainWatch wakes the page for each event, until the API server ends the watch.
func drainWatch(ctx context.Context, w watch.Interface, changed chan struct{}) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-w.ResultChan():
			if !open {
				return
			}
			wake(changed)
		}
	}
}
