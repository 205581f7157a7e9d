// Command provider-kubemark serves the provider of hollow nodes to a machine-controller-remote: the example of a provider that
// is a process of its own.
//
//	provider-kubemark --listen unix:///run/millwright/kubemark.sock --kubemark-dir /var/lib/kubemark
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "provider-kubemark:", err)
		os.Exit(1)
	}
}

// identities describe how the provider reads its provider IDs: the scheme in any case, and any number of
// slashes.
func identities() []remote.Identity {
	return []remote.Identity{{Pattern: `(?is)kubemark:///*(.*)`, Name: "$1", FoldCase: true}}
}

func run(ctx context.Context, args []string) error {
	l := remote.Listening{Log: klog.Background().WithName("provider-kubemark")}
	var tls remote.TLS
	var target string
	config := kubemark.Config{Clock: clock.RealClock{}}
	fs := pflag.NewFlagSet("provider-kubemark", pflag.ContinueOnError)
	fs.StringVar(&l.Address, "listen", "", "where to listen: unix:///path, or host:port with the flags of TLS")
	fs.StringVar(&tls.Cert, "tls-cert", "", "file with the certificate of this program; all TLS files are read again for each connection")
	fs.StringVar(&tls.Key, "tls-key", "", "file with the key of that certificate")
	fs.StringVar(&tls.CA, "tls-ca", "", "file with the CA of the controllers' certificates, which must sign no others")
	fs.StringVar(&target, "target-kubeconfig", "", "kubeconfig of the cluster that nodes of the kwok back end join")
	config.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if tls != (remote.TLS{}) {
		l.TLS = &tls
	}
	if target != "" {
		rest, err := clientcmd.BuildConfigFromFlags("", target)
		if err != nil {
			return fmt.Errorf("--target-kubeconfig: %w", err)
		}
		config.Target = rest
	}
	p, err := kubemark.New(config)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return p.Run(ctx) })
	all.Go(func() error { return p.ServeMetadata(ctx) })
	all.Go(func() error {
		return remote.Serve(ctx, l, remote.Served{Provider: p, Identities: identities(), Clock: clock.RealClock{}})
	})
	return all.Wait()
}
