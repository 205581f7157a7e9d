package cloud

import (
	"context"
	"os"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

const name = "azure"

// Options are the dependencies and settings of a provider.
type Options struct {
	Clock provider.Clock
	// Objects reads the Infrastructure and the bundle of certificates of an OpenShift cluster; nil for other
	// clusters.
	Objects provider.Objects
	// Endpoint is the Resource Manager's URL. It replaces that of the cloud in specs and in the cluster.
	Endpoint string
	// CABundle are certificates (PEM) that are trusted besides the system's.
	CABundle []byte
	// Getenv reads the environment, in which OpenShift's programs look for what the secret lacks; nil for
	// the process's.
	Getenv func(string) string
}

// Provider is the provider. It is safe for concurrent use.
type Provider struct {
	Options
	clients   *kit.Clients[*client]
	openshift *kit.Specs[*spec.OpenShift]
	gardener  *kit.Specs[*spec.Gardener]
}

var _ provider.Provider = &Provider{}

// New returns the provider.
func New(o Options) *Provider {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Provider{
		Options: o, clients: kit.NewClients[*client](o.Clock, 0, 0),
		openshift: kit.NewSpecs(func(_ string, raw []byte) (*spec.OpenShift, error) { return spec.DecodeOpenShift(raw) }),
		gardener:  kit.NewSpecs(func(_ string, raw []byte) (*spec.Gardener, error) { return spec.DecodeGardener(raw) }),
	}
}

// Name implements [provider.Provider].
func (*Provider) Name() string { return name }

// Open implements [provider.Provider].
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	where, err := p.clusterConfig(ctx, class)
	if err != nil {
		return nil, err
	}
	creds, err := credentialsOf(class, p.Getenv)
	if err != nil {
		return nil, err
	}
	s := &session{provider: p, class: class, creds: creds, where: where}
	if s.group = creds.group; s.group == "" && class.API == provider.OpenShift {
		s.group = where.group
	}
	s.ours = ownership{cluster: class.Cluster}
	if len(class.Spec) == 0 {
		s.key = keyOf(creds, where)
		return s, nil
	}
	switch class.API {
	case provider.Gardener:
		err = planGardener(s)
	default:
		err = planOpenShift(s)
	}
	if err != nil {
		return nil, err
	}
	s.key = keyOf(creds, s.where)
	return s, nil
}

// keyOf hashes the parts of a secret that open an account, and no others: classes of one account with
// different user data share a client.
func keyOf(c credentials, w clusterConfig) provider.ClientKey {
	opens := map[string][]byte{
		"subscription": []byte(c.subscription), "tenant": []byte(c.tenant), "client": []byte(c.client), "secret": []byte(c.secret), "tokenFile": []byte(c.tokenFile),
	}
	return provider.KeyOf(opens, w.endpoint+" "+w.cloud, "", w.ca)
}
