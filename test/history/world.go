package main

import (
	"context"
	_ "embed" // the fleet
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

//go:embed fleet.yaml
var fleetYAML []byte

// driver is the user who changes the fleet.
const driver = "millwright-driver"

// world is the fleet with its control plane, users and faults.
type world struct {
	// ctx ends with the world.
	ctx  context.Context
	dir  string
	seed uint64
	// now and previous are folders of binaries. previous is empty if the run has only one version.
	now, previous string
	recordsCalls  map[string]bool
	// restores says that etcd may be restored.
	restores bool

	fleet   *fleet.Fleet
	client  client.Client
	log     *journal
	proxies map[string]*proxy
	seats   map[string][]*seat

	mu     sync.Mutex
	counts map[string]int
	strays []ref
	// begin lets the users begin, in a round in which they wait.
	begin func()
}

// programs are the controllers.
var programs = []string{fleet.Sets, fleet.Machines}

// planeArgs are additional arguments of the control plane.
func (w *world) planeArgs() (map[string][]string, error) {
	audit, err := record.Audit(w.dir)
	if err != nil {
		return nil, err
	}
	args := map[string][]string{devplane.APIServer: audit}
	if w.restores {
		args[devplane.ControllerManager], args[devplane.Kwok] = []string{noticesSoon}, []string{renewsSoon}
	}
	return args, nil
}

// start starts the world: the control plane, the controllers, and the fleet of fleet.yaml.
func (w *world) start() (err error) {
	for _, dir := range []string{"logs", "fleet"} {
		if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o700); err != nil {
			return err
		}
	}
	args, err := w.planeArgs()
	if err != nil {
		return err
	}
	w.fleet, err = fleet.Start(w.ctx, fleet.Options{
		Dir: filepath.Join(w.dir, "fleet"), Bin: w.now, Backend: "kwok", Idle: true, PlaneArgs: args, Log: os.Stderr,
	})
	if err != nil {
		return fmt.Errorf("start the fleet: %w", err)
	}
	if w.client, err = w.clientOf(driver); err != nil {
		return err
	}
	if w.log, err = newJournal(filepath.Join(w.dir, "cloud.jsonl"), fleet.CloudDir(w.fleet.Dir)); err != nil {
		return err
	}
	go func() {
		if err := w.log.watch(w.ctx); err != nil {
			w.log.mark(checker.Event{Mark: checker.Crashed, Message: err.Error()})
		}
	}()
	go w.kubelets(w.ctx)
	if err := w.fleet.Create(w.ctx, fleetYAML); err != nil {
		return err
	}
	for n, program := range programs {
		config, err := clientcmd.BuildConfigFromFlags("", w.fleet.Kubeconfig(program))
		if err != nil {
			return err
		}
		config.QPS = -1
		if w.proxies[program], err = newProxy(config, w.seed+uint64(n)); err != nil {
			return err
		}
		if err := w.proxies[program].kubeconfig(w.proxied(program)); err != nil {
			return err
		}
		for n := range 2 {
			s := &seat{w: w, program: program, n: n}
			w.seats[program] = append(w.seats[program], s)
			if err := s.start(w.now); err != nil {
				return err
			}
		}
	}
	return nil
}

// clientOf returns a client of an administrator with this name.
func (w *world) clientOf(user string) (client.Client, error) {
	config, err := w.fleet.Plane.RESTConfigFor(user, "system:masters")
	if err != nil {
		return nil, err
	}
	config.Timeout = 20 * time.Second
	c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

// stop ends all processes. The records stay.
func (w *world) stop() error {
	var problems []error
	for _, program := range programs {
		for _, s := range w.seats[program] {
			problems = append(problems, s.signal(contSignal), s.end(termSignal))
		}
		if p := w.proxies[program]; p != nil {
			p.set(weather{})
			p.CloseClientConnections()
			p.Close()
		}
	}
	if w.fleet != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Minute)
		defer cancel()
		problems = append(problems, fleet.Down(ctx, w.fleet.Dir, w.now))
	}
	return errors.Join(problems...)
}

// each sets the weather of all proxies.
func (w *world) each(change weather) {
	for _, p := range w.proxies {
		p.set(change)
	}
}

// count counts something for the summary.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// say prints the progress.
func say(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+strings.TrimRight(format, "\n")+"\n", args...)
}
