// Package cloud runs machines as virtual machines of libvirt: as domains on layers over a base volume, which
// boot with Ignition or cloud-init.
//
// The creator of a domain chooses its UUID: it is derived from the machine's token, so that libvirt itself
// refuses a second domain of a machine. Volumes only have names, which record their owner (see volumes.go).
package cloud

import (
	"cmp"
	"context"
	"os"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
	"github.com/millwright-dev/millwright/serve"
)

// Config has the dependencies and defaults of a [Provider].
type Config struct {
	Clock provider.Clock
	// URI is the default address of libvirt; empty: [spec.DefaultURI].
	URI string
}

// Provider implements [provider.Provider].
type Provider struct {
	uri     string
	specs   *kit.Specs[*spec.Config]
	clients *kit.Clients[*conn]
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(c Config) *Provider {
	return &Provider{uri: cmp.Or(c.URI, spec.DefaultURI), specs: kit.NewSpecs(decode), clients: kit.NewClients[*conn](c.Clock, 0, 0)}
}

// variable is the environment variable with the default URI of libvirt's own clients.
const variable = "LIBVIRT_DEFAULT_URI"

// Plugin returns the provider to serve. A libvirt daemon runs on one host, and has few workers.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name: name,
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, URI: os.Getenv(variable)}), nil
		},
		Limits: decorate.Limits{PerSecond: 20, Burst: 40},
	}
}

const name = "libvirt"

// Name implements [provider.Provider].
func (*Provider) Name() string { return name }

// decode decodes the spec of either API.
func decode(api string, raw []byte) (*spec.Config, error) {
	switch api {
	case provider.OpenShift:
		return spec.DecodeOpenShift(raw)
	case provider.Gardener:
		return spec.DecodeGardener(raw)
	}
	return nil, provider.Errorf(provider.Invalid, "libvirt has no specs of the API %q", api)
}

// keyURI is the key of credentials with the address of libvirt.
const keyURI = "uri"

// Open implements [provider.Provider]. It makes no call to the host.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{provider: p, class: class, uri: string(class.Credentials[keyURI])}
	if len(class.Spec) > 0 {
		c, err := p.specs.Get(class.API, class.Spec)
		if err != nil {
			return nil, err
		}
		s.spec, s.uri = c, cmp.Or(c.URI, s.uri)
	}
	s.uri = cmp.Or(s.uri, p.uri)
	if why := spec.CheckURI(s.uri); why != "" {
		return nil, provider.InvalidField("uri", "%q, of the credentials or of %s, %s", lenient.Shown(s.uri), variable, why)
	}
	return s, nil
}

// ReadSpec implements [provider.SpecReader]: the section of the user data's format names its secret, and
// there are no credentials.
func (*Provider) ReadSpec(api string, raw []byte) (names provider.SpecNames, err error) {
	c, _, err := lenient.Decode[spec.Config](raw)
	if err == nil && api == provider.OpenShift {
		names.UserData.Name = c.UserDataSecret()
	}
	return names, err
}
