package plugin

import (
	"context"
	"fmt"
	"html/template"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// page is `kubectl machine ui` on the command line.
type page struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	target string
	port   uint16
	open   bool
}

// UI is the command that serves a web page about the fleet; program is its name for users.
func UI(program string, streams genericiooptions.IOStreams) *cobra.Command {
	p := &page{IOStreams: streams, config: genericclioptions.NewConfigFlags(true)}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page of the fleet: what is wrong with it, and the life of each machine",
		Long: `ui serves a web page on this machine's loopback interface, with the rights of the
kubeconfig: the machines of both APIs at a glance, what is wrong with them now and
what to do next, and for each machine its life, its node and its pods. The page
follows the cluster by watches. It only reads.

The printed address has a code that lets your browser in; other users of this
machine cannot open the page without it. Without -n the page shows all namespaces.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context()) },
	}
	c.Example = `  # all namespaces
  ` + program + ` ui
  # one namespace, on a port of your choice, in the browser
  ` + program + ` ui -n shoot--blue --port 8600 --open`
	p.config.AddFlags(c.Flags())
	c.Flags().StringVar(&p.target, "target-kubeconfig", "", "file with the cluster that the machines join; empty: the same")
	c.Flags().Uint16Var(&p.port, "port", 0, "port of the page; 0 for a free one")
	c.Flags().BoolVar(&p.open, "open", false, "open the page in the browser")
	return c
}

func (p *page) run(ctx context.Context) error {
	o, err := p.options()
	if err != nil {
		return err
	}
	server, err := ui.New(ctx, o)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.port))))
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	address := server.Address(l)
	fmt.Fprintf(p.Out, "The fleet of %s is at\n\n  %s\n\nCtrl-C ends the page.\n", o.Cluster, address)
	if p.open {
		end, err := openBrowser(ctx, address)
		if err != nil {
			fmt.Fprintln(p.ErrOut, "the browser does not open:", err)
		}
		defer end()
	}
	return server.Serve(ctx, l)
}

func (p *page) options() (o ui.Options, err error) {
	w := why{config: p.config, target: p.target}
	if _, _, err = w.clusters(); err != nil {
		return o, err
	}
	o = ui.Options{Namespace: *p.config.Namespace, Cluster: w.cluster(), Clock: clock.RealClock{}}
	if o.Control, err = restConfig(p.config); err != nil {
		return o, err
	}
	if p.target == "" {
		return o, nil
	}
	target := genericclioptions.NewConfigFlags(false)
	target.KubeConfig = &p.target
	o.Target, err = restConfig(target)
	return o, err
}

func restConfig(flags genericclioptions.RESTClientGetter) (*rest.Config, error) {
	c, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c.QPS, c.Burst = 50, 100
	return c, nil
}

// door is a page that leads to another one.
var door = template.Must(template.New("").Parse(`<!doctype html><meta http-equiv="refresh" content="0;url={{.}}"><a href="{{.}}">Millwright</a>`))

// openBrowser opens the address in the user's browser. A command line can be read by all users of the machine, so
// that it names a file that only this user may read, which leads to the address. The function deletes the file.
func openBrowser(ctx context.Context, address string) (end func(), err error) {
	dir, err := os.MkdirTemp("", "millwright-ui-")
	if err != nil {
		return func() {}, fmt.Errorf("create a file for the browser: %w", err)
	}
	end = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return end, fmt.Errorf("create a file for the browser: %w", err)
	}
	defer f.Close()
	if err := door.Execute(f, template.URL(address)); err != nil { //nolint:gosec // an address of our own
		return end, fmt.Errorf("write a file for the browser: %w", err)
	}
	return end, exec.CommandContext(ctx, opener(), file).Start()
}

// opener is the program that opens files as the user prefers.
func opener() string {
	switch runtime.GOOS {
	case "darwin":
		return "open"
	case "windows":
		return "explorer"
	}
	return "xdg-open"
}
