package cloud

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	resourcemanager "google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is shared by sessions with the same credentials. It is safe for concurrent use.
type client struct {
	compute *compute.Service
	tags    *resourcemanager.Service

	// known caches what hardly changes: types of machines, whether images start with UEFI, values of tags,
	// projects.
	known *kit.Memo[any]
}

// patience is how long the beginning of an answer may take. Calls end with their contexts in any case.
const patience = time.Minute

func newClient(l login, from clusterConfig, clock provider.Clock) (*client, error) {
	plain, err := transport(from.bundle)
	if err != nil {
		return nil, err
	}
	// Tokens are renewed during the whole life of the client, by whichever call finds an old one.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: plain, Timeout: patience})
	source, err := l.tokens(ctx, from.endpoints)
	if err != nil {
		return nil, err
	}
	signed := &http.Client{Transport: &oauth2.Transport{Source: oauth2.ReuseTokenSource(nil, source), Base: plain}}
	host := func(api string) string { return "https://" + api + "." + l.universe() }
	c := &client{known: kit.NewMemo[any](clock, remembered)}
	c.compute, err = compute.NewService(ctx, option.WithHTTPClient(signed), option.WithEndpoint(cmp.Or(from.endpoints.compute, host("compute")+computePath)))
	if err != nil {
		return nil, err
	}
	c.compute.UserAgent = "millwright"
	c.tags, err = resourcemanager.NewService(ctx, option.WithHTTPClient(signed), option.WithEndpoint(cmp.Or(from.endpoints.resourceManager, host("cloudresourcemanager")+"/")))
	return c, err
}

// transport trusts the system's certificates and the bundle's, and uses the proxy of the environment.
func transport(bundle []byte) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = 16, patience
	if len(bundle) == 0 {
		return t, nil
	}
	pool, ok := infrastructure.Trusted(bundle)
	if !ok {
		return nil, provider.Errorf(provider.Transient, "the bundle of certificates in the ConfigMap kube-cloud-config has none")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// remembered is how long an answer that hardly changes is cached. It is not longer, because a family gets newer
// images, and a deleted tag can be created again under its name.
const remembered = 10 * time.Minute

// recall returns the value cached under key, or the result of ask.
func recall[T any](ctx context.Context, c *client, key string, ask func(context.Context) (T, error)) (T, error) {
	return kit.GetAs(ctx, c.known, key, ask)
}
