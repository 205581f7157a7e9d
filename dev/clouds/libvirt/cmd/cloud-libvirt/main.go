// Command cloud-libvirt takes the place of a simulator in `millwright up --provider libvirt`, and simulates
// nothing: it connects the fleet to the real libvirt that hack/libvirt has started, and that libvirt's nodes
// to the fleet's API server. When it receives a signal to stop, it stops both.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/millwright-dev/millwright/dev/clouds/libvirt/guest"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cloud-libvirt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("cloud-libvirt", flag.ContinueOnError)
	dir := f.String("dir", "", "folder for place.json; required")
	kubeconfig := f.String("fallback-kubeconfig", "", "kubeconfig of the cluster that nodes join; required")
	f.String("guests", "", "accepted, and not used: guests are virtual machines")
	if err := f.Parse(args); err != nil {
		return err
	}
	share, err := share()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(share, "ready")); err != nil {
		return fmt.Errorf("no libvirt runs in %s: start it with `hack/libvirt up`", share)
	}
	raw, err := os.ReadFile(*kubeconfig)
	if err != nil {
		return err
	}
	server, err := guest.Server(raw)
	if err != nil {
		return err
	}
	socket := filepath.Join(share, "api.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go guest.Forward(l, server)
	if err := announce(*dir, "qemu+unix:///system?socket="+filepath.Join(share, "libvirt-sock")); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.Join(l.Close(), os.WriteFile(filepath.Join(share, "stop"), nil, 0o600))
}

// share is the folder of hack/libvirt's sockets.
func share() (string, error) {
	if dir := os.Getenv("MILLWRIGHT_LIBVIRT"); dir != "" {
		return filepath.Join(dir, "share"), nil
	}
	cache := os.Getenv("MILLWRIGHT_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "millwright")
	}
	return filepath.Join(cache, "libvirt", "share"), nil
}

// announce writes the address of libvirt for clients, in the form of its URIs.
func announce(dir, uri string) error {
	raw, err := json.Marshal(map[string]any{"environment": map[string]string{"LIBVIRT_DEFAULT_URI": uri}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "place.json")
	if err := os.WriteFile(file+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
