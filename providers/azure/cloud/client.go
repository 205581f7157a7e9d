package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	resourcegraph "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is an account in a cloud.
type client struct {
	subscription string
	token        azcore.TokenCredential
	scope        string // the audience of tokens
	clock        provider.Clock
	http         *http.Client
	manager      *arm.Client

	compute *compute.ClientFactory
	network *network.ClientFactory
	graph   *resourcegraph.Client
	lists   kit.SharedReads

	sizesOf   *kit.Memo[catalog]               // by location
	balancers *kit.Memo[*network.LoadBalancer] // by group and name
	// joined caches the pools and rules of load balancers that a listing showed for a machine, by its ID in
	// lower case.
	joined *kit.Memo[[]string]
}

// module is this provider's name in requests to Azure.
const module = "millwright"

// newClient creates a client without a call, unless it has to ask the endpoint for the login endpoint. The
// client never retries, and registers no resource providers: the engine retries.
func newClient(ctx context.Context, w clusterConfig, c credentials, clock provider.Clock) (*client, error) {
	place, err := w.azure(ctx)
	if err != nil {
		return nil, err
	}
	options := policy.ClientOptions{
		Cloud: place.Configuration, Transport: place.http,
		Retry: policy.RetryOptions{MaxRetries: -1}, Telemetry: policy.TelemetryOptions{ApplicationID: module},
	}
	token, err := c.token(options, place.apart)
	if err != nil {
		return nil, provider.Errorf(provider.Denied, "%w", err)
	}
	token = &oneLogin{TokenCredential: token, clock: clock}
	managed := &arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}
	out := &client{
		subscription: c.subscription, token: token, clock: clock, http: place.http,
		sizesOf: kit.NewMemo[catalog](clock, time.Hour), balancers: kit.NewMemo[*network.LoadBalancer](clock, time.Minute),
		joined: kit.NewMemo[[]string](clock, time.Minute),
		scope:  place.Services[azcloud.ResourceManager].Audience + "/.default", // as the SDK has it
	}
	var errs [4]error
	out.compute, errs[0] = compute.NewClientFactory(c.subscription, token, managed)
	out.network, errs[1] = network.NewClientFactory(c.subscription, token, managed)
	out.graph, errs[2] = resourcegraph.NewClient(token, managed)
	out.manager, errs[3] = arm.NewClient(module, "v1.0.0", token, managed)
	return out, errors.Join(errs[:]...)
}

// token logs in with a secret, or with the token of a workload.
func (c credentials) token(options policy.ClientOptions, apart bool) (azcore.TokenCredential, error) {
	if c.secret != "" {
		return azidentity.NewClientSecretCredential(c.tenant, c.client, c.secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: apart})
	}
	if _, err := os.Stat(c.tokenFile); err != nil {
		return nil, fmt.Errorf("look for the token of the workload: %w", err)
	}
	return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: options, ClientID: c.client, TenantID: c.tenant, TokenFilePath: c.tokenFile, DisableInstanceDiscovery: apart,
	})
}

// oneLogin requests a token when it has none that is valid for a while. The SDK requests one for each of
// its clients, and its library calls an unknown directory again for each of them.
type oneLogin struct {
	azcore.TokenCredential
	clock  provider.Clock
	logins kit.SharedReads

	mu    sync.Mutex
	held  azcore.AccessToken
	scope string
}

// early is the minimal remaining validity of a token.
const early = 5 * time.Minute

// GetToken implements [azcore.TokenCredential]. Concurrent callers share one login.
func (l *oneLogin) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	scope := strings.Join(o.Scopes, " ")
	return kit.Share(ctx, &l.logins, scope+" "+o.Claims, func(ctx context.Context) (azcore.AccessToken, error) {
		if token, ok := l.holds(scope); ok && o.Claims == "" {
			return token, nil
		}
		token, err := l.TokenCredential.GetToken(ctx, o)
		if err == nil {
			l.hold(token, scope)
		}
		return token, err
	})
}

func (l *oneLogin) holds(scope string) (azcore.AccessToken, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held, l.scope == scope && l.clock.Now().Add(early).Before(l.held.ExpiresOn)
}

func (l *oneLogin) hold(token azcore.AccessToken, scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.scope = token, scope
}

// client returns the session's client, which it may share with others.
func (s *session) client(ctx context.Context) (*client, error) {
	c, err := s.provider.clients.Get(ctx, s.key, func(ctx context.Context) (*client, error) {
		return newClient(ctx, s.where, s.creds, s.provider.Clock)
	})
	if err != nil {
		return nil, s.observe(err, "connect to Azure")
	}
	return c, nil
}

// observe classifies an error, and drops the client if it is denied.
func (s *session) observe(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	err = s.provider.clients.Observe(s.key, s.plan.called().classify(err))
	return fmt.Errorf(format+": %w", append(args, err)...)
}
