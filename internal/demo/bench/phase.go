package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The phases.
const (
	create = "create"
	remove = "delete"
	roll   = "roll"
	die    = "dead"
)

// programs are the programs of the controllers.
var programs = []string{fleet.Sets, fleet.Machines}

// startControllers starts both programs and waits until their caches are filled
// and no controller has work.
func (s *session) startControllers(ctx context.Context) error {
	for _, program := range programs {
		if _, err := s.plane.StartController(program); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, program := range programs {
		for !ready(soon, s.health[program]) {
			if err := s.alive(); err != nil {
				return err
			}
			if err := pause(soon, 100*time.Millisecond); err != nil {
				return fmt.Errorf("%s does not get ready: %w", program, err)
			}
		}
	}
	return s.quiet(ctx)
}

func ready(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// alive returns an error if a controller has ended.
func (s *session) alive() error {
	for _, c := range s.plane.Controllers {
		if !c.Alive() {
			return fmt.Errorf("%s ended; its log ends with:\n%s", c.Program, c.Tail())
		}
	}
	return nil
}

// task is what a phase measures: how it begins, and when it is done.
type task struct {
	phase string
	ask   func(context.Context) error
	done  func(context.Context) (bool, error)
}

func (s *session) creating() task {
	return task{create, func(ctx context.Context) error { return s.plane.scaleAll(ctx, s.shape.sets(s.machines)) }, s.allRunning()}
}

func (s *session) removing() task {
	return task{remove, func(ctx context.Context) error { return s.plane.scaleAll(ctx, s.shape.sets(0)) }, s.allGone}
}

// phase begins the task, waits for its end and until nothing writes, and reads the
// results from the audit log.
func (s *session) phase(ctx context.Context, t task, bounds ceilings) (Measured, error) {
	if err := resetPeak(s.plane.Controllers); err != nil {
		return Measured{}, err
	}
	before, err := usageOf(s.plane.Controllers)
	if err != nil {
		return Measured{}, err
	}
	s.logf("%s", t.phase)
	begin := time.Now()
	if err := t.ask(ctx); err != nil {
		return Measured{}, err
	}
	if err := s.await(ctx, t.done); err != nil {
		return Measured{}, fmt.Errorf("%s: %w", t.phase, err)
	}
	seen := time.Now()
	after, err := usageOf(s.plane.Controllers)
	if err != nil {
		return Measured{}, err
	}
	if err := s.quiet(ctx); err != nil {
		return Measured{}, err
	}
	m := newMeasured(s, t.phase)
	m.CPUSeconds, m.PeakRSSBytes = after.cpuSeconds-before.cpuSeconds, after.peakRSS
	m.BytesPerMachine = (after.peakRSS - before.rss) / int64(s.machines)
	return m, s.judge(ctx, &m, bounds, window{begin: begin, seen: seen, writes: s.plane.audit.since(begin)})
}

// scale sets the wanted number of machines of the set, or deployment, at path.
func (p *plane) scale(ctx context.Context, path string, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := p.raw.Patch(types.MergePatchType).AbsPath(path + "/scale").Body(patch).DoRaw(ctx); err != nil {
		return fmt.Errorf("scale to %d: %w", replicas, err)
	}
	return nil
}

// await checks until the state is reached. It checks rarely, because that costs the
// control plane; the audit log has the exact time.
func (s *session) await(whole context.Context, reached func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(whole, s.Timeout)
	defer cancel()
	for {
		ok, err := reached(ctx)
		if err == nil && ok {
			return nil
		}
		if err := whole.Err(); err != nil {
			return err // the user interrupted it
		}
		if ctx.Err() != nil {
			return fmt.Errorf("not done after %s: %s", s.Timeout, s.standing())
		}
		if err != nil {
			return err
		}
		if err := s.alive(); err != nil {
			return err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (s *session) allRunning() func(context.Context) (bool, error) {
	return settled(s.shape.sets(s.machines), s.plane.running, s.everyoneReady)
}

// everyoneReady checks every machine and node.
func (s *session) everyoneReady(ctx context.Context) (bool, error) {
	all, err := s.plane.Census(ctx)
	if err != nil || len(all) != s.machines {
		return false, err
	}
	for _, m := range all {
		if !m.Ready() {
			return false, nil
		}
	}
	return true, nil
}

func (s *session) allGone(ctx context.Context) (bool, error) {
	for _, path := range []string{s.shape.path("machines"), "/api/v1/nodes"} {
		if some, err := s.plane.any(ctx, path); some || err != nil {
			return false, err
		}
	}
	return true, nil
}

// standing describes the state of the machines, for an error message.
func (s *session) standing() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := s.plane.Census(ctx)
	if err != nil {
		return err.Error()
	}
	count, why := map[string]int{}, ""
	for _, m := range all {
		count[m.Phase+"/"+string(m.NodeReady)]++
		if !m.Ready() && m.Why != "" {
			why = "; for instance " + m.Name + ": " + m.Why
		}
	}
	return fmt.Sprintf("%d machines, by phase and readiness of the node: %v%s", len(all), count, why)
}

// rest counts the controllers' writes while there is nothing to do.
func (s *session) rest(ctx context.Context) (int, error) {
	s.logf("counting writes at rest for %s", s.Rest)
	begin := time.Now()
	if err := pause(ctx, s.Rest); err != nil {
		return 0, err
	}
	if err := s.plane.audit.read(); err != nil {
		return 0, err
	}
	count := 0
	for _, w := range s.plane.audit.since(begin) {
		if ours(w) {
			count++
			s.logf("a write at rest: %s %s", w.what(), w.Name)
		}
	}
	return count, nil
}
