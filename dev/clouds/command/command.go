// Package command is the program of a simulator: it listens on loopback, answers for every host as an HTTP
// proxy, boots instances, and writes its address.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/hollow"
	"github.com/millwright-dev/millwright/dev/clouds/kwok"
)

// Options are the common options of simulators.
type Options struct {
	// Inventory is a YAML document of the cloud's initial content: images, networks, types. Nil: a sample.
	Inventory []byte
	// AcceptAny accepts credentials, regions, images, networks and so on of any name.
	AcceptAny bool
	// Boot is the time until an instance runs.
	Boot time.Duration
}

// Place has the addresses of a simulator, as its program writes them.
type Place struct {
	// URL is its address, both of the API and of the proxy.
	URL string `json:"url"`
	// CA is the file with the certificate that clients of the proxy must trust.
	CA string `json:"ca"`
}

// Furnisher is a [double.Cloud] that issues data which a file of samples cannot contain, such as keys.
type Furnisher interface {
	// Manifests is a YAML document of Secrets.
	Manifests() ([]byte, error)
}

// program is the command line.
type program struct {
	Options
	listen, inventory, dir, guests, nodes, fallback string
}

// Main runs the simulator of a cloud until the process receives a signal to stop, and exits.
func Main(name string, cloud func(*double.Clock, Options) (double.Cloud, error)) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, name, os.Args[1:], cloud)
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Run is [Main] as a function that returns.
func Run(ctx context.Context, name string, args []string, cloud func(*double.Clock, Options) (double.Cloud, error)) error {
	var p program
	if err := p.parse(name, args); err != nil {
		return err
	}
	clock := &double.Clock{}
	c, err := cloud(clock, p.Options)
	if err != nil {
		return err
	}
	authority, err := double.NewAuthority()
	if err != nil {
		return err
	}
	proxy := double.NewProxy(double.NewServer(clock, c), authority)
	defer func() { _ = proxy.Close() }()
	listener, err := net.Listen("tcp", p.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	if err := errors.Join(p.furnish(c), p.announce(listener.Addr(), authority)); err != nil {
		return err
	}
	return p.live(ctx, c)
}

func (p *program) parse(name string, args []string) error {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&p.listen, "listen", "127.0.0.1:0", "address to listen at")
	f.StringVar(&p.dir, "dir", "", "folder for place.json, which has the simulator's addresses, and for its guests; required")
	f.StringVar(&p.inventory, "inventory", "", "YAML file of the cloud's initial content; a sample by default")
	f.BoolVar(&p.AcceptAny, "accept-any", false, "accept any name as existing: of credentials, regions, images, networks, types")
	f.DurationVar(&p.Boot, "boot", 2*time.Second, "how long an instance takes to run")
	f.StringVar(&p.guests, "guests", "", "program, with first arguments, that is run for each instance; none: instances are records only")
	f.StringVar(&p.nodes, "nodes-kubeconfig", "", "instead of --guests: kubeconfig of a cluster in which each instance is a Node that kwok simulates")
	f.StringVar(&p.fallback, "fallback-kubeconfig", "", "bootstrap kubeconfig of instances whose user data has none")
	if err := f.Parse(args); err != nil {
		return err
	}
	if p.dir == "" || f.NArg() > 0 {
		return fmt.Errorf("--dir is required, and there are no arguments: %q", f.Args())
	}
	if p.inventory == "" {
		return nil
	}
	var err error
	p.Inventory, err = os.ReadFile(p.inventory)
	return err
}

// ManifestsFile is the name of the file in --dir that a [Furnisher] fills, before the [PlaceFile] exists.
const ManifestsFile = "manifests.yaml"

func (p *program) furnish(c double.Cloud) error {
	f, ok := c.(Furnisher)
	if !ok {
		return nil
	}
	raw, err := f.Manifests()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, ManifestsFile), raw, 0o600)
}

// PlaceFile is the name of the file in --dir with a [Place].
const PlaceFile = "place.json"

func (p *program) announce(at net.Addr, authority *double.Authority) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return err
	}
	place := Place{URL: "http://" + at.String(), CA: filepath.Join(dir, "ca.crt")}
	raw, err := json.Marshal(place)
	if err != nil {
		return err
	}
	if err := os.WriteFile(place.CA, authority.PEM(), 0o600); err != nil {
		return err
	}
	temporary := filepath.Join(dir, PlaceFile+".new")
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	fmt.Println(string(raw))
	return os.Rename(temporary, filepath.Join(dir, PlaceFile))
}

// live boots guests until ctx ends.
func (p *program) live(ctx context.Context, c double.Cloud) error {
	host, ok := c.(double.Host)
	h, err := p.hypervisor()
	if !ok || h == nil || err != nil {
		if err == nil {
			<-ctx.Done()
		}
		return err
	}
	told := map[string]string{}
	double.Live(ctx, host, h, func(g double.Guest, err error) {
		if told[g.ID] != err.Error() { // once for each cause
			told[g.ID] = err.Error()
			fmt.Fprintf(os.Stderr, "instance %s (%s) does not boot: %v\n", g.ID, g.NodeName, err)
		}
	})
	return nil
}

// hypervisor is nil if instances are only records.
func (p *program) hypervisor() (double.Hypervisor, error) {
	if p.nodes != "" {
		return kwok.New(p.nodes)
	}
	if p.guests == "" {
		return nil, nil
	}
	h := &hollow.Hypervisor{Command: strings.Fields(p.guests), Dir: filepath.Join(p.dir, "guests")}
	if p.fallback == "" {
		return h, nil
	}
	var err error
	h.Fallback, err = os.ReadFile(p.fallback)
	return h, err
}
