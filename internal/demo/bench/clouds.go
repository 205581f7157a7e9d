package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// cloudSession is a fleet on a simulated cloud. Its machines belong to the sets of the samples.
type cloudSession struct {
	Options
	machines int
	fleet    *fleet.Fleet
	// sets is how many machines each set with machines wants.
	sets        map[string]int
	heard       heard
	controllers endpoints
}

// endpoints are the controllers' health addresses and arguments, by name.
type endpoints struct {
	health map[string]string
	args   map[string][]string
}

// heard is the number of requests that the simulator has reported, and the requests of the phase.
type heard struct {
	n     int
	calls []call
}

// roomy returns an inventory with capacity for the machines; empty if the inventory of the samples is enough. Metal3's provider lists all
// hosts, so there are only a fifth more hosts of each kind than machines.
func roomy(provider string, machines int) string {
	switch provider {
	case "gcp":
		return `regions: [{name: us-east1, zones: [us-east1-b, us-east1-c, us-east1-d]}, {name: europe-west1, zones: [europe-west1-b, europe-west1-c, europe-west1-d]}]`
	case "metal3":
		return fmt.Sprintf(`hosts: [{name: worker, count: %[1]d, labels: {role: worker}, cpus: 16, memoryMiB: 65536}, {name: storage, count: %[1]d, labels: {role: storage}, cpus: 32, memoryMiB: 131072}]`,
			machines+machines/5)
	}
	return ""
}

// runClouds measures each number of machines on a fleet of its own.
func runClouds(ctx context.Context, o Options, report *Report) error {
	for _, n := range o.Machines {
		s := &cloudSession{Options: o, machines: n, sets: shares(o.APIs, n), controllers: endpoints{map[string]string{}, map[string][]string{}}}
		measured, err := s.run(ctx)
		if len(measured.Phases) > 0 {
			report.Clouds = append(report.Clouds, measured)
		}
		if err != nil {
			return fmt.Errorf("measure %s with %d machines: %w", o.Provider, n, err)
		}
	}
	return nil
}

// shares divides machines among APIs.
func shares(all []string, machines int) map[string]int {
	out := map[string]int{}
	for i, api := range all {
		out[api] = machines*(i+1)/len(all) - machines*i/len(all)
	}
	return out
}

func (s *cloudSession) run(ctx context.Context) (measured CloudCalls, err error) {
	measured = CloudCalls{Provider: s.Provider, APIs: s.APIs, Machines: s.machines, Limits: s.CloudLimits}
	dir := filepath.Join(s.Dir, fmt.Sprintf("%s-%d", s.Provider, s.machines))
	s.logf("starting a control plane and the cloud")
	if err := s.start(ctx, dir); err != nil {
		return measured, err
	}
	defer func() {
		fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if e := fleet.Down(fresh, dir, s.Bin); e != nil && err == nil {
			err = fmt.Errorf("take the control plane down: %w", e)
		}
	}()
	for _, phase := range s.phases() {
		p, err := s.measure(ctx, phase)
		if err != nil {
			return measured, fmt.Errorf("%s: %w", phase.name, err)
		}
		measured.Phases = append(measured.Phases, p)
		s.logf("%s in %.1f s: %.3f changes and %.3f reads per machine", p.Phase, p.Seconds, p.Changes, p.Reads)
	}
	return measured, nil
}

// start starts all programs. The sets want no machines.
func (s *cloudSession) start(ctx context.Context, dir string) (err error) {
	for _, program := range s.programs() {
		if s.controllers.health[program], err = ports.FreeAddress(); err != nil {
			return err
		}
		s.controllers.args[program] = []string{"--health-addr=" + s.controllers.health[program]}
	}
	inventory, err := s.inventory()
	if err != nil {
		return err
	}
	s.fleet, err = fleet.Start(ctx, fleet.Options{
		Dir: dir, Bin: s.Bin, Backend: "kwok", Cloud: fleet.CloudOptions{Provider: s.Provider, Inventory: inventory},
		Idle: true, Metrics: true, Args: s.controllers.args, PlaneArgs: planeArgs(),
	})
	if err != nil {
		return err
	}
	if err := s.fleet.ApplySamples(ctx); err != nil {
		return err
	}
	if err := s.scale(ctx, map[string]int{}); err != nil {
		return err
	}
	for _, l := range s.CloudLimits {
		raw, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := s.fleet.Cloud.Ask(ctx, "POST", "limits", raw); err != nil {
			return fmt.Errorf("limit the cloud: %w", err)
		}
	}
	return s.startControllers(ctx)
}

func (s *cloudSession) programs() []string {
	return []string{fleet.Sets, "machine-controller-" + s.Provider}
}

// inventory is the file of the inventory; empty if the inventory of the samples is enough.
func (s *cloudSession) inventory() (string, error) {
	has := roomy(s.Provider, s.machines)
	if has == "" {
		return "", nil
	}
	file := filepath.Join(s.Dir, s.Provider+"-inventory.yaml")
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder: %w", err)
	}
	if err := os.WriteFile(file, []byte(has), 0o600); err != nil {
		return "", fmt.Errorf("write the inventory of the cloud: %w", err)
	}
	return file, nil
}

func (s *cloudSession) startControllers(ctx context.Context) error {
	for _, program := range s.programs() {
		if _, err := s.fleet.StartController(program); err != nil {
			return err
		}
	}
	return s.await(ctx, s.ready)
}

func (s *cloudSession) ready(ctx context.Context) (string, error) {
	for program, address := range s.controllers.health {
		if !ready(ctx, address) {
			return program + " is not ready", nil
		}
	}
	return "", nil
}

// scale sets the number of machines of the samples' sets, one set in each API; an API without a number gets 0.
func (s *cloudSession) scale(ctx context.Context, machines map[string]int) error {
	for _, api := range apis.All {
		sets := &unstructured.UnstructuredList{}
		sets.SetAPIVersion(api.Name + "/" + api.Version)
		sets.SetKind("MachineSetList")
		if err := s.fleet.Client.List(ctx, sets); err != nil {
			return fmt.Errorf("list the sets of %s: %w", api.Name, err)
		}
		if len(sets.Items) == 0 && machines[api.Name] == 0 { // the cloud has no sample of this API
			continue
		}
		if len(sets.Items) != 1 {
			return fmt.Errorf("%s has %d sets, want the one of the samples", api.Name, len(sets.Items))
		}
		set := &sets.Items[0]
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, machines[api.Name])
		if err := s.fleet.Client.Patch(ctx, set, apiclient.RawPatch("application/merge-patch+json", patch)); err != nil {
			return fmt.Errorf("scale %s of %s to %d: %w", set.GetName(), api.Name, machines[api.Name], err)
		}
	}
	return nil
}

// cloudPhase is the beginning of a phase and its end condition: wanting says what is missing; empty at the end.
type cloudPhase struct {
	name    string
	begin   func(context.Context) error
	wanting func(context.Context) (string, error)
	// machines is the number of machines at the end.
	machines int
}

func (s *cloudSession) phases() []cloudPhase {
	return []cloudPhase{
		{"created", func(ctx context.Context) error { return s.scale(ctx, s.sets) }, s.allReady, s.machines},
		{"restarted", s.restart, s.allLookedAt, s.machines},
		{"at rest", func(context.Context) error { return nil }, s.allLookedAgain(), s.machines},
		{"deleted", func(ctx context.Context) error { return s.scale(ctx, nil) }, s.allGone, 0},
	}
}

// restart kills the machine controller and starts one with shorter periods: it does within a short time what a controller at rest
// does in ten minutes or more.
func (s *cloudSession) restart(ctx context.Context) error {
	program := s.programs()[1]
	for _, c := range slices.Clone(s.fleet.Controllers) {
		if c.Program == program {
			if err := s.fleet.KillController(ctx, c); err != nil {
				return err
			}
		}
	}
	// The fleet shares this map, and reads it at the start.
	s.controllers.args[program] = append(s.controllers.args[program], "--min-resync-period="+s.Rest.String(), "--machine-safety-orphan-vms-period="+s.Rest.String())
	_, err := s.fleet.StartController(program)
	return err
}

// measure runs a phase, and returns the requests to the cloud until its end.
func (s *cloudSession) measure(ctx context.Context, phase cloudPhase) (CloudPhase, error) {
	p, began := CloudPhase{Phase: phase.name}, time.Now()
	s.logf("%s", phase.name)
	before, err := s.looks(ctx)
	if err != nil {
		return p, err
	}
	s.heard.calls = nil
	if err := phase.begin(ctx); err != nil {
		return p, err
	}
	if err := s.await(ctx, phase.wanting); err != nil {
		return p, err
	}
	p.Seconds = rounded(time.Since(began).Seconds())
	if err := s.await(ctx, s.asksNothing()); err != nil {
		return p, err
	}
	after, err := s.looks(ctx)
	if err != nil {
		return p, err
	}
	if after < before { // the counter of a new process starts at zero
		before = 0
	}
	p.Looks = rounded(float64(after-before) / float64(s.machines))
	p.count(s.heard.calls, s.machines)
	p.Instances, err = s.instances(ctx, phase.machines)
	return p, err
}

// calm is how long the cloud must get no request at the end of a phase.
const calm = 5 * time.Second

// asksNothing waits until the cloud gets no requests, for at most a minute.
func (s *cloudSession) asksNothing() func(context.Context) (string, error) {
	began := time.Now()
	return func(context.Context) (string, error) {
		last := began
		if len(s.heard.calls) > 0 {
			last = s.heard.calls[len(s.heard.calls)-1].At
		}
		if time.Since(began) > calm && time.Since(last) > calm || time.Since(began) > time.Minute {
			return "", nil
		}
		return "the cloud still gets requests", nil
	}
}

// await checks every two seconds what is missing, until nothing is. Meanwhile it reads the simulator's requests.
func (s *cloudSession) await(ctx context.Context, wanting func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var missing string
	for {
		now, err := wanting(ctx)
		if err == nil {
			missing, err = now, s.heard.listen(ctx, s.fleet.Cloud)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("not done after %s: %s: %w", s.Timeout, missing, ctx.Err())
		}
		if err != nil || missing == "" {
			return err
		}
		for _, c := range s.fleet.Controllers {
			if !c.Alive() {
				return fmt.Errorf("%s ended; its log ends with:\n%s", c.Program, c.Tail())
			}
		}
		if err := pause(ctx, 2*time.Second); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

var errForgotten = errors.New("the simulator dropped requests before they were read")

// listen reads the requests that the simulator has received since the last call.
func (h *heard) listen(ctx context.Context, cloud *fleet.Cloud) error {
	raw, err := cloud.Ask(ctx, "GET", "log?after="+strconv.Itoa(h.n), nil)
	if err != nil {
		return fmt.Errorf("read the log of the cloud: %w", err)
	}
	var log struct {
		Requests []call `json:"requests"`
		Answered int    `json:"answered"`
	}
	if err := json.Unmarshal(raw, &log); err != nil {
		return fmt.Errorf("read the log of the cloud: %w", err)
	}
	if len(log.Requests) != log.Answered-h.n {
		return errForgotten
	}
	h.n = log.Answered
	h.calls = append(h.calls, log.Requests...)
	return nil
}

// looks is the number of passes over machines of the running process.
func (s *cloudSession) looks(ctx context.Context) (sum int, err error) {
	if err := s.heard.listen(ctx, s.fleet.Cloud); err != nil {
		return 0, err
	}
	for _, c := range s.fleet.Controllers {
		if c.Program != s.programs()[1] {
			continue
		}
		for _, api := range s.APIs {
			n, err := passes(ctx, c.Metrics, "machine."+api)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

func (s *cloudSession) allReady(ctx context.Context) (string, error) {
	all, err := s.fleet.Census(ctx)
	ready := 0
	for _, m := range all {
		if m.Ready() {
			ready++
		}
	}
	if err != nil || ready == s.machines && len(all) == s.machines {
		return "", err
	}
	return fmt.Sprintf("%d of %d machines are ready", ready, len(all)), nil
}

// allLookedAt waits until the restarted process has reconciled each machine.
func (s *cloudSession) allLookedAt(ctx context.Context) (string, error) {
	if missing, err := s.ready(ctx); missing != "" || err != nil {
		return missing, err
	}
	n, err := s.looks(ctx)
	if err != nil || n >= s.machines {
		return "", err
	}
	return fmt.Sprintf("%d machines were reconciled", n), nil
}

// allLookedAgain waits until each machine was reconciled once more. The resync of informers may take up to twice its
// period.
func (s *cloudSession) allLookedAgain() func(context.Context) (string, error) {
	before := -1
	return func(ctx context.Context) (string, error) {
		n, err := s.looks(ctx)
		if before < 0 {
			before = n
		}
		if err != nil || n-before >= s.machines {
			return "", err
		}
		return fmt.Sprintf("%d machines were reconciled", n-before), nil
	}
}

// allGone waits until the machines are deleted, and until the cloud has removed their instances, which takes longer.
func (s *cloudSession) allGone(ctx context.Context) (string, error) {
	all, err := s.fleet.Census(ctx)
	if err != nil || len(all) > 0 {
		return fmt.Sprintf("%d machines are left", len(all)), err
	}
	state, err := s.cloud(ctx)
	if err != nil {
		return "", err
	}
	if n := len(living(state)); n > 0 || len(state.Orphans) > 0 {
		return fmt.Sprintf("%d instances are left, and without an instance %s", n, strings.Join(state.Orphans[:min(3, len(state.Orphans))], ", ")), nil
	}
	return "", nil
}

func (s *cloudSession) cloud(ctx context.Context) (state fleet.CloudState, err error) {
	raw, err := s.fleet.Cloud.Ask(ctx, "GET", "instances", nil)
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	return state, err
}

// living counts, by name, the instances that cost money.
func living(state fleet.CloudState) map[string]int {
	out := map[string]int{}
	for _, i := range state.Instances {
		if !slices.Contains([]string{"terminated", "deleted", "gone"}, strings.ToLower(i.State)) {
			out[i.Name]++
		}
	}
	return out
}

// instances checks that the cloud has one instance for each machine, and no other.
func (s *cloudSession) instances(ctx context.Context, machines int) (int, error) {
	all, err := s.fleet.Census(ctx)
	if err != nil {
		return 0, err
	}
	state, err := s.cloud(ctx)
	if err != nil {
		return 0, err
	}
	has, names := living(state), make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	return len(has), errors.Join(oneEach(names, has, machines), orphans(state))
}

func orphans(state fleet.CloudState) error {
	if len(state.Orphans) == 0 {
		return nil
	}
	return fmt.Errorf("left without an instance: %s", strings.Join(state.Orphans, ", "))
}

// oneEach returns an error unless each of the machines has one instance and there is no other instance.
func oneEach(names []string, has map[string]int, machines int) error {
	if len(names) != machines || len(has) != machines {
		return fmt.Errorf("there are %d machines, and instances of %d names, want %d", len(names), len(has), machines)
	}
	for _, name := range names {
		if has[name] != 1 {
			return fmt.Errorf("machine %s has %d instances", name, has[name])
		}
	}
	return nil
}

func (s *cloudSession) logf(format string, args ...any) {
	fmt.Fprintf(s.Log, "%s, %d machines: %s\n", s.Provider, s.machines, fmt.Sprintf(format, args...))
}
