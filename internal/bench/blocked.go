package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/fleet"
)

// Blocked is what drains that a budget blocks cost others: rounds of creating
// and deleting machines while there are some, and while there are none.
type Blocked struct {
	API string `json:"api"`
	// Machines are created and deleted in each round, Drains are blocked.
	Machines int `json:"machines"`
	Drains   int `json:"drains"`
	// Before and After are of the rounds without blocked drains before and after
	// those With them.
	Before Round `json:"before"`
	With   Round `json:"with"`
	After  Round `json:"after"`
	// Ceiling is the raw client's, without blocked drains.
	Ceiling Round `json:"ceiling"`
	// Refusals are the evictions that were refused from the first of the rounds
	// With to their end, pauses included.
	Refusals int `json:"refusals"`
	// Ratio is With to the mean of Before and After, creating and deleting
	// together; Loss is how much less is done in the same time, in percent.
	Ratio float64 `json:"ratio"`
	Loss  float64 `json:"loss"`
}

// rounds are as many of each kind: one alone is over too soon to be compared.
const rounds = 5

// Round is how long creating and deleting machines took, in seconds; the medians
// of several rounds.
type Round struct {
	Create float64 `json:"create"`
	Delete float64 `json:"delete"`
}

func (r Round) total() float64 { return r.Create + r.Delete }

// compare fills in what follows from the rounds.
func (b *Blocked) compare() {
	b.Ratio = 2 * b.With.total() / (b.Before.total() + b.After.total())
	b.Loss = 100 * (1 - 1/b.Ratio)
	for _, f := range []*float64{
		&b.Ratio, &b.Loss, &b.Before.Create, &b.Before.Delete, &b.With.Create, &b.With.Delete,
		&b.After.Create, &b.After.Delete, &b.Ceiling.Create, &b.Ceiling.Delete,
	} {
		*f = rounded(*f)
	}
}

// measureBlocked plays a round that warms the controllers up, and then those
// that count.
func (s *session) measureBlocked(ctx context.Context, report *Report) error {
	bounds, err := s.ceilings(ctx)
	if err != nil {
		return err
	}
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	b := Blocked{
		API: s.shape.API, Machines: s.machines, Drains: s.Blocked,
		Ceiling: Round{Create: bounds.create.Seconds(), Delete: bounds.remove.Seconds()},
	}
	for _, step := range []func() error{
		func() (err error) { _, err = s.round(ctx, 0); return err },
		func() (err error) { b.Before, err = s.typical(ctx, 0); return err },
		func() error { return s.block(ctx) },
		func() (err error) {
			begin := time.Now()
			b.With, err = s.typical(ctx, s.Blocked)
			b.Refusals = len(denied(s.plane.audit.since(begin)))
			return err
		},
		func() error { return s.unblock(ctx) },
		func() (err error) { b.After, err = s.typical(ctx, 0); return err },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	b.compare()
	report.Blocked = append(report.Blocked, b)
	return nil
}

// typical plays some rounds.
func (s *session) typical(ctx context.Context, blocked int) (Round, error) {
	var creates, deletes []float64
	for range rounds {
		r, err := s.round(ctx, blocked)
		if err != nil {
			return Round{}, err
		}
		creates, deletes = append(creates, r.Create), append(deletes, r.Delete)
	}
	return Round{Create: quantiles(creates).P50, Delete: quantiles(deletes).P50}, nil
}

// round creates all machines and deletes them, beside those that leave and
// cannot.
func (s *session) round(ctx context.Context, blocked int) (r Round, err error) {
	s.logf("create and delete, %d drains blocked", blocked)
	if r.Create, err = s.half(ctx, s.machines, blocked, spanOfCreate); err != nil {
		return r, fmt.Errorf("create beside %d blocked drains: %w", blocked, err)
	}
	if r.Delete, err = s.half(ctx, 0, blocked, spanOfRemove); err != nil {
		return r, fmt.Errorf("delete beside %d blocked drains: %w", blocked, err)
	}
	return r, nil
}

// half scales the set and returns the seconds until the end that the audit log
// shows.
func (s *session) half(ctx context.Context, replicas, blocked int, end func([]write) time.Time) (float64, error) {
	if err := s.quiet(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.scale(ctx, s.shape.set(), replicas); err != nil {
		return 0, err
	}
	if err := s.await(ctx, func(ctx context.Context) (bool, error) { return s.beside(ctx, replicas, blocked) }); err != nil {
		return 0, err
	}
	if err := s.plane.audit.read(); err != nil {
		return 0, err
	}
	at := end(s.plane.audit.since(begin))
	if at.IsZero() {
		return 0, errors.New("the audit log shows no end")
	}
	return at.Sub(begin).Seconds(), nil
}

// beside reports whether just so many machines are ready, and just so many are
// leaving.
func (s *session) beside(ctx context.Context, ready, leaving int) (bool, error) {
	all, err := s.plane.Census(ctx)
	if err != nil || len(all) != ready+leaving {
		return false, err
	}
	for _, m := range all {
		switch {
		case m.Ready():
			ready--
		case m.Deleted:
			leaving--
		}
	}
	return ready == 0 && leaving == 0, nil
}

// spanOfCreate is when the last of the machines that came was written to be
// Running, or its node to be Ready.
func spanOfCreate(writes []write) time.Time {
	came := answered(writes, fleet.Sets, "create machines")
	return latest(
		lastAmong(came, lastByName(writes, fleet.Machines, "patch machines/status")),
		lastAmong(came, lastByName(writes, "kwok", "patch nodes/status")))
}

// spanOfRemove is when the last of the machines that were deleted was gone, or
// its node.
func spanOfRemove(writes []write) time.Time {
	went := answered(writes, fleet.Sets, "delete machines")
	return latest(
		lastAmong(went, lastByName(writes, fleet.Machines, "patch machines")),
		lastAmong(went, lastByName(writes, fleet.Machines, "delete nodes")))
}

// lastAmong is the last time of the names: what else happens meanwhile is not
// measured. Nodes have the names of their machines.
func lastAmong(names, times map[string]time.Time) (last time.Time) {
	for name := range names {
		last = latest(last, times[name])
	}
	return last
}

// The pods that nobody may evict.
const (
	podsPath    = "/api/v1/namespaces/default/pods"
	budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

	budget = `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"bench"},` +
		`"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"bench"}}}}`
	pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%[1]q,"labels":{"app":"bench"}},` +
		`"spec":{"nodeName":%[1]q,"terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,` +
		`"containers":[{"name":"main","image":"registry.example/none"}]}}`
)

// block makes machines with a pod each that a budget protects, deletes them, and
// waits until each of the evictions was refused.
func (s *session) block(ctx context.Context) error {
	if err := s.scale(ctx, s.shape.set(), s.Blocked); err != nil {
		return err
	}
	if err := s.await(ctx, func(ctx context.Context) (bool, error) { return s.beside(ctx, s.Blocked, 0) }); err != nil {
		return fmt.Errorf("make machines to block: %w", err)
	}
	all, err := s.plane.Census(ctx)
	if err != nil {
		return err
	}
	client := s.client(ctx)
	if err := client.post(budgetsPath, []byte(budget)); err != nil {
		return err
	}
	for _, m := range all {
		if err := client.post(podsPath, fmt.Appendf(nil, pod, m.Node)); err != nil {
			return fmt.Errorf("make a pod that stays: %w", err)
		}
	}
	if err := s.await(ctx, s.podsRun); err != nil {
		return fmt.Errorf("make pods that stay: %w", err)
	}
	begin := time.Now()
	if err := s.scale(ctx, s.shape.set(), 0); err != nil {
		return err
	}
	return s.await(ctx, func(context.Context) (bool, error) {
		if err := s.plane.audit.read(); err != nil {
			return false, err
		}
		pods := map[string]bool{}
		for _, w := range denied(s.plane.audit.since(begin)) {
			pods[w.Name] = true
		}
		return len(pods) == s.Blocked, nil
	})
}

// podsRun reports whether all pods run, and so are the budget's.
func (s *session) podsRun(ctx context.Context) (bool, error) {
	var list struct {
		Items []struct{ Status struct{ Phase string } }
	}
	if err := s.plane.get(ctx, podsPath, &list, "labelSelector", "app=bench"); err != nil {
		return false, err
	}
	for _, p := range list.Items {
		if p.Status.Phase != "Running" {
			return false, nil
		}
	}
	return len(list.Items) == s.Blocked, nil
}

// unblock takes the budget away, and waits until all that it held is gone.
func (s *session) unblock(ctx context.Context) error {
	if err := s.client(ctx).delete(budgetsPath + "/bench"); err != nil {
		return err
	}
	if err := s.await(ctx, s.allGone); err != nil {
		return fmt.Errorf("let go of what was blocked: %w", err)
	}
	return nil
}

// denied are the evictions that a budget did not allow.
func denied(writes []write) (out []write) {
	for _, w := range writes {
		if w.what() == eviction && w.Code == 429 {
			out = append(out, w)
		}
	}
	return out
}
