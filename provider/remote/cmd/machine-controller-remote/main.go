// Command machine-controller-remote runs machines on an infrastructure whose provider is a process of its
// own: a sidecar, or a service behind mutual TLS.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(plugin(os.Args[1:])) }

// flags have the address of the provider.
type flags struct {
	name, address string
	tls           remote.TLS
	objects       []string
	apis          []string
}

func (f *flags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.name, "provider-name", "remote", "the name that the provider has to call itself; leases, metrics and events are named by it")
	fs.StringVar(&f.address, "provider-address", "", "where the provider listens: unix:///path, or host:port with the flags of TLS")
	fs.StringVar(&f.tls.Cert, "provider-tls-cert", "", "file with the certificate of this program; TLS files are read for each connection")
	fs.StringVar(&f.tls.Key, "provider-tls-key", "", "file with the key of that certificate")
	fs.StringVar(&f.tls.CA, "provider-tls-ca", "", "file with the CA that the provider's certificate is of")
	fs.StringVar(&f.tls.ServerName, "provider-tls-server-name", "", "name that the provider's certificate has to be for; empty is the host of its address")
	fs.StringSliceVar(&f.apis, "provider-apis", nil, "API groups that the provider makes machines of; empty is both. Machines of others are not touched")
	fs.StringSliceVar(&f.objects, "provider-object", nil,
		"object of the control cluster that the provider may be given, as APIVERSION/KIND/NAMESPACE/NAME; may be repeated, and the role has to allow it to be read")
}

// plugin is the provider as a program. Its name and its APIs are needed before flags are parsed: the names
// of leases contain them.
func plugin(args []string) serve.Plugin {
	var early, f flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags, fs.Usage = true, func() {}
	early.add(fs)
	_ = fs.Parse(args) // the command reports errors in them
	return serve.Plugin{
		Name:     early.name,
		APIs:     early.apis,
		AddFlags: f.add,
		New:      func(_ context.Context, e serve.Env) (provider.Provider, error) { return f.dial(e) },
	}
}

func (f *flags) dial(e serve.Env) (provider.Provider, error) {
	allowed, err := parseObjects(f.objects)
	if err != nil {
		return nil, err
	}
	config := remote.Config{Name: f.name, Address: f.address, Objects: e.Objects, Allowed: allowed, Log: klog.Background().WithName("remote")}
	if f.tls != (remote.TLS{}) {
		config.TLS = &f.tls
	}
	c, err := remote.Dial(config)
	if err != nil {
		return nil, fmt.Errorf("--provider-name, --provider-address: %w", err)
	}
	return c, nil
}

// parseObjects reads APIVERSION/KIND/NAMESPACE/NAME; an APIVERSION with a group has a slash, too.
func parseObjects(texts []string) (out []provider.ObjectRef, err error) {
	for _, text := range texts {
		parts := strings.Split(text, "/")
		n := len(parts)
		if n < 4 || n > 5 || parts[0] == "" || parts[n-3] == "" || parts[n-1] == "" {
			return nil, fmt.Errorf("--provider-object: %q is not APIVERSION/KIND/NAMESPACE/NAME, with an empty namespace for kinds without", text)
		}
		out = append(out, provider.ObjectRef{APIVersion: strings.Join(parts[:n-3], "/"), Kind: parts[n-3], Namespace: parts[n-2], Name: parts[n-1]})
	}
	return out, nil
}
