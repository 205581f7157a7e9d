package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is an account in a region, with cached answers.
type client struct {
	region string
	// ecs is the client of ECS, services are those of other services. Each call uses a copy: the SDK writes
	// a field in each call.
	ecs      ecs.Client
	services map[string]openapi.Client

	accounts *kit.Memo[string]
	resolved *kit.Memo[[]string] // IDs of resources that specs name otherwise
	types    *kit.Memo[*instanceType]
	refusals *kit.Refusals // of tags
	observed observations
	tokens   tokens
}

// observations are recent observations, so that they need not be repeated.
type observations struct {
	absent  *kit.Memo[struct{}] // machines without an instance
	tried   *kit.Memo[struct{}] // machines for which an instance may have been created
	leaving *kit.Memo[struct{}] // instances whose deletion ECS has accepted
}

// How long answers are cached.
const (
	aWhile = 5 * time.Minute
	aDay   = 24 * time.Hour
)

// The other services of Alibaba Cloud that are called: their names in endpoints, and versions.
const (
	vpc = "vpc"
	rm  = "resourcemanager"
	sts = "sts"
)

var versions = map[string]string{vpc: "2016-04-28", rm: "2020-03-31", sts: "2015-04-01"}

// centralVPC are the regions whose VPC service has the central endpoint.
var centralVPC = []string{
	"ap-southeast-1", "cn-beijing", "cn-hangzhou", "cn-hongkong", "cn-qingdao", "cn-shanghai", "cn-shenzhen", "us-east-1", "us-west-1",
}

func newClient(o Options, secret map[string][]byte, region string) (*client, error) {
	id, err := identityOf(secret)
	if err != nil {
		return nil, err
	}
	common := openapiutil.Config{
		AccessKeyId: &id.key, AccessKeySecret: &id.secret, RegionId: &region, UserAgent: dara.String("millwright"), HttpClient: newTransport(),
	}
	if id.token != "" {
		common.SecurityToken = &id.token
	}
	if o.Endpoint != "" {
		at, err := url.Parse(o.Endpoint)
		if err != nil || at.Host == "" {
			return nil, provider.Errorf(provider.Invalid, "the endpoint %q is not a URL with a host", o.Endpoint)
		}
		common.Endpoint, common.Protocol = &at.Host, &at.Scheme
	}
	c := &client{region: region, services: map[string]openapi.Client{}}
	config := common
	sdk, err := ecs.NewClient(&config)
	if err != nil {
		return nil, err
	}
	c.ecs = *sdk
	c.ecs.Client.DisableSDKError = dara.Bool(true) // the SDK's own errors have more
	for service := range versions {
		config := common
		if config.Endpoint == nil {
			config.Endpoint = dara.String(endpointOf(service, region))
		}
		other, err := openapi.NewClient(&config)
		if err != nil {
			return nil, err
		}
		other.DisableSDKError = dara.Bool(true)
		c.services[service] = *other
	}
	c.remember(o.Clock)
	return c, nil
}

// endpointOf is the host of a service other than ECS, whose endpoints the SDK knows.
func endpointOf(service, region string) string {
	if service == rm || service == vpc && slices.Contains(centralVPC, region) {
		return service + ".aliyuncs.com"
	}
	return service + "." + region + ".aliyuncs.com"
}

func (c *client) remember(clock provider.Clock) {
	c.accounts = kit.NewMemo[string](clock, 100*365*aDay)
	c.resolved = kit.NewMemo[[]string](clock, aWhile)
	c.types = kit.NewMemo[*instanceType](clock, aDay)
	c.refusals = kit.NewRefusals(clock, 2*aWhile)
	c.tokens.spent = kit.NewMemo[time.Time](clock, aDay)
	c.observed = observations{
		absent:  kit.NewMemo[struct{}](clock, readLag/2),
		tried:   kit.NewMemo[struct{}](clock, 2*readLag),
		leaving: kit.NewMemo[struct{}](clock, aWhile),
	}
}

// call calls ECS by a method of its client.
func call[Q, A any](ctx context.Context, c *client, do func(*ecs.Client, context.Context, *Q, *dara.RuntimeOptions) (*A, error), request *Q) (*A, error) {
	own := c.ecs
	return do(&own, ctx, request, &dara.RuntimeOptions{})
}

// ask calls another service, and decodes its answer into a structure.
func (c *client) ask(ctx context.Context, service, action string, parameters map[string]string, answer any) error {
	own, query := c.services[service], map[string]*string{}
	for key, value := range parameters {
		query[key] = &value
	}
	reply, err := own.CallApiWithCtx(ctx, &openapiutil.Params{
		Action: &action, Version: dara.String(versions[service]), Protocol: dara.String("HTTPS"), Pathname: dara.String("/"), Method: dara.String("POST"),
		AuthType: dara.String("AK"), Style: dara.String("RPC"), ReqBodyType: dara.String("formData"), BodyType: dara.String("json"),
	}, &openapiutil.OpenApiRequest{Query: query}, &dara.RuntimeOptions{})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(reply["body"])
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

// account is the number of the account.
func (c *client) account(ctx context.Context) (string, error) {
	return c.accounts.Get(ctx, "", func(ctx context.Context) (string, error) {
		var caller struct {
			AccountID string `json:"AccountId"`
		}
		err := c.ask(ctx, sts, "GetCallerIdentity", nil, &caller)
		return caller.AccountID, err
	})
}

// transport sends the SDK's requests. It is Go's usual one, which uses the proxy that the environment names,
// instead of the one that the SDK configures for each request.
type transport struct{ *http.Client }

func newTransport() transport {
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = 16
	return transport{&http.Client{Transport: own}}
}

// Call implements the SDK's interface.
func (t transport) Call(request *http.Request, _ *http.Transport) (*http.Response, error) {
	return t.Do(request)
}

// deref is the value of a field of the SDK; the zero value if the field is missing.
func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
