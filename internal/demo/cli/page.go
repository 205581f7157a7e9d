package cli

import (
	"context"
	"fmt"
	"net"
	"os"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// startPage serves the page of the fleet until ctx ends, and opens it if the user has a browser. It returns the page's address.
func (u *up) startPage(ctx context.Context, f *fleet.Fleet) (address string, err error) {
	config, err := connect.Config(connect.File(f.Plane.KubeconfigPath))
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig of the fleet: %w", err)
	}
	s, err := ui.New(ctx, ui.Options{Cluster: "millwright", Options: live.Options{Control: config, Clock: clock.RealClock{}}})
	if err != nil {
		return "", err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve the page: %w", err)
	}
	go func() {
		if err := s.Serve(ctx, l); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	address = s.Address(l)
	if terminal.Is(os.Stdout) && ui.HasDisplay() {
		end, err := ui.OpenBrowser(ctx, address)
		context.AfterFunc(ctx, end)
		if err != nil { // the page is served nevertheless
			fmt.Fprintln(os.Stderr, "the browser does not open:", err)
		}
	}
	return address, nil
}
