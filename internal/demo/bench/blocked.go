package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// Blocked is the cost of drains that a budget blocks for other machines. Rounds create
// and delete machines, in turn beside machines whose drains are blocked and beside the
// same number of machines that stay.
type Blocked struct {
	API string `json:"api"`
	// Machines are created and deleted in each round; Drains is the number of blocked drains.
	Machines int `json:"machines"`
	Drains   int `json:"drains"`
	// With and Without are the medians of all rounds of a kind.
	With    Round `json:"with"`
	Without Round `json:"without"`
	// Ceiling is the round of the raw client, without other machines.
	Ceiling Round `json:"ceiling"`
	// Refusals are the evictions that were refused during the rounds With,
	// pauses included.
	Refusals int `json:"refusals"`
	// Ratio is the ratio of With to Without, for creating and deleting together. Each
	// turn with blocked drains is compared to the turns before and after it, so that a
	// change of the machine's load has no effect. Loss is by how many percent less is
	// done in the same time.
	Ratio Spread `json:"ratio"`
	Loss  Spread `json:"loss"`
	// Noise is the difference, in percent, between turns without blocked drains and the
	// turns without them before: a smaller loss cannot be measured.
	Noise float64 `json:"noise"`
}

const (
	// turnsBlocked is how many turns have blocked drains: an odd number, so that the
	// median is one of the comparisons.
	turnsBlocked = 5
	// rounds make a turn: a single round ends before the blocked drains try again,
	// which they all do at about the same time.
	rounds = 3
)

// Round is how long the creation and the deletion of machines took, in seconds.
type Round struct {
	Create float64 `json:"create"`
	Delete float64 `json:"delete"`
}

func (r Round) total() float64 { return r.Create + r.Delete }

// turn is several rounds of one kind.
type turn []Round

// typical is the median of the rounds.
func (t turn) typical() Round {
	var creates, deletes []float64
	for _, r := range t {
		creates, deletes = append(creates, r.Create), append(deletes, r.Delete)
	}
	return Round{Create: rounded(quantiles(creates).P50), Delete: rounded(quantiles(deletes).P50)}
}

// seconds is the sum over all rounds: repeated attempts fall on some rounds only, so
// that no single round is typical.
func (t turn) seconds() (sum float64) {
	for _, r := range t {
		sum += r.total()
	}
	return sum
}

// compareBlocked compares turns with blocked drains to turns without. There is one
// turn more without: before the first, and after each.
func compareBlocked(without, with []turn) Blocked {
	b := Blocked{Without: slices.Concat(without...).typical(), With: slices.Concat(with...).typical()}
	ratios, losses, noises := make([]float64, len(with)), make([]float64, len(with)), make([]float64, len(with))
	for i, t := range with {
		before, after := without[i].seconds(), without[i+1].seconds()
		ratios[i] = 2 * t.seconds() / (before + after)
		losses[i] = 100 * (1 - 1/ratios[i])
		noises[i] = 100 * math.Abs(after/before-1)
	}
	b.Ratio, b.Loss, b.Noise = spreadOf(ratios), spreadOf(losses), spreadOf(noises).Median
	return b
}

// measureBlocked runs a round that warms the controllers up, and then the turns.
func (s *session) measureBlocked(ctx context.Context, report *Report) error {
	bounds, err := s.ceilings(ctx)
	if err != nil {
		return err
	}
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	if err := s.prepareRoll(ctx); err != nil {
		return err
	}
	if _, err := s.round(ctx, others{}); err != nil {
		return err
	}
	var without, with []turn
	refusals := 0
	for {
		free, err := s.turnFree(ctx)
		if err != nil {
			return err
		}
		if without = append(without, free); len(without) > turnsBlocked {
			break
		}
		blocked, refused, err := s.turnBlocked(ctx)
		if err != nil {
			return err
		}
		with, refusals = append(with, blocked), refusals+refused
	}
	b := compareBlocked(without, with)
	b.API, b.Machines, b.Drains, b.Refusals = s.shape.API, s.machines, s.Blocked, refusals
	b.Ceiling = Round{Create: rounded(bounds.create.Seconds()), Delete: rounded(bounds.remove.Seconds())}
	report.Blocked = append(report.Blocked, b)
	return nil
}

// others are the machines besides those that the rounds create and delete.
type others struct{ ready, leaving int }

// turnFree runs a turn beside machines of a deployment that stay.
func (s *session) turnFree(ctx context.Context) (turn, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s.turn(ctx, others{ready: s.Blocked})
}

// turnBlocked runs a turn beside the same machines, which are now being deleted and
// cannot be drained. It counts the evictions that are refused meanwhile. No eviction is
// refused before or after the turn.
func (s *session) turnBlocked(ctx context.Context) (t turn, refused int, err error) {
	if err := s.block(ctx); err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	if t, err = s.turn(ctx, others{leaving: s.Blocked}); err != nil {
		return nil, 0, err
	}
	refused = len(denied(s.plane.audit.since(begin)))
	return t, refused, s.unblock(ctx)
}

// turn runs several rounds.
func (s *session) turn(ctx context.Context, o others) (t turn, err error) {
	for range rounds {
		r, err := s.round(ctx, o)
		if err != nil {
			return nil, err
		}
		t = append(t, r)
	}
	s.logf("%d rounds beside %d blocked drains: %.2f s", rounds, o.leaving, t.seconds())
	return t, nil
}

// round creates all machines and deletes them, beside others.
func (s *session) round(ctx context.Context, o others) (r Round, err error) {
	if r.Create, err = s.half(ctx, s.machines, o, spanOfCreate); err != nil {
		return r, fmt.Errorf("create beside %d blocked drains: %w", o.leaving, err)
	}
	if r.Delete, err = s.half(ctx, 0, o, spanOfRemove); err != nil {
		return r, fmt.Errorf("delete beside %d blocked drains: %w", o.leaving, err)
	}
	return r, nil
}

// half scales the set and returns the seconds until the end that the audit log
// shows.
func (s *session) half(ctx context.Context, replicas int, o others, end func([]write) time.Time) (float64, error) {
	if err := s.quiet(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.plane.scaleAll(ctx, s.shape.sets(replicas)); err != nil {
		return 0, err
	}
	if err := s.await(ctx, func(ctx context.Context) (bool, error) { return s.beside(ctx, replicas+o.ready, o.leaving) }); err != nil {
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

// beside reports whether exactly these numbers of machines are ready, and are being
// deleted.
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

// spanOfCreate is the time at which the last created machine was written as Running, or
// its node as Ready.
func spanOfCreate(writes []write) time.Time {
	came := answered(writes, fleet.Sets, "create machines")
	return latest(
		lastAmong(came, lastByName(writes, fleet.Machines, "patch machines/status")),
		lastAmong(came, lastByName(writes, "kwok", "patch nodes/status")))
}

// spanOfRemove is when the last deleted machine ceased to exist, or
// its node.
func spanOfRemove(writes []write) time.Time {
	went := answered(writes, fleet.Sets, "delete machines")
	return latest(
		lastAmong(went, lastByName(writes, fleet.Machines, "patch machines")),
		lastAmong(went, lastByName(writes, fleet.Machines, "delete nodes")))
}

// lastAmong is the last time of the given names: the measure ignores other
// machines. Nodes have the names of their machines.
func lastAmong(names, times map[string]time.Time) (last time.Time) {
	for name := range names {
		last = latest(last, times[name])
	}
	return last
}

// The pods whose budget allows no eviction.
const (
	podsPath    = "/api/v1/namespaces/default/pods"
	budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

	budget = `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"bench"},` +
		`"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"bench"}}}}`
	pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%[1]q,"labels":{"app":"bench"}},` +
		`"spec":{"nodeName":%[1]q,"terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,` +
		`"containers":[{"name":"main","image":"registry.example/none"}]}}`
)

// settle creates machines with one pod each that a budget protects.
func (s *session) settle(ctx context.Context) error {
	if err := s.plane.scaleAll(ctx, s.shape.deployments(s.Blocked)); err != nil {
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
	return nil
}

// block deletes these machines and waits until an eviction was refused on each of them.
func (s *session) block(ctx context.Context) error {
	begin := time.Now()
	if err := s.plane.scaleAll(ctx, s.shape.deployments(0)); err != nil {
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

// podsRun reports whether all pods run and the budget counts them.
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

// unblock deletes the budget and waits until all machines that it blocked are deleted.
func (s *session) unblock(ctx context.Context) error {
	if err := s.client(ctx).delete(budgetsPath + "/bench"); err != nil {
		return err
	}
	if err := s.await(ctx, s.allGone); err != nil {
		return fmt.Errorf("delete the budget of the blocked drains: %w", err)
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
