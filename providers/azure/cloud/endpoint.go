package cloud

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// known are the Azure clouds whose endpoints the SDK has, by the names that both APIs use.
var known = map[string]cloud.Configuration{
	string(configv1.AzurePublicCloud):       cloud.AzurePublic,
	string(configv1.AzureUSGovernmentCloud): cloud.AzureGovernment,
	string(configv1.AzureChinaCloud):        cloud.AzureChina,
	spec.CloudPublic:                        cloud.AzurePublic,
	spec.CloudGovernment:                    cloud.AzureGovernment,
	spec.CloudChina:                         cloud.AzureChina,
}

// azure has the endpoints of requests and of the login.
type azure struct {
	cloud.Configuration
	// apart says that the login endpoint is unknown to Azure's directory, which is not asked about it.
	apart bool
	http  *http.Client
}

func (w clusterConfig) azure(ctx context.Context) (azure, error) {
	h, err := w.http()
	if err != nil {
		return azure{}, err
	}
	if w.endpoint != "" {
		c, err := discover(ctx, h, w.endpoint)
		return azure{Configuration: c, apart: true, http: h}, err
	}
	c, ok := known[w.cloud]
	if !ok {
		return azure{}, provider.Errorf(provider.Invalid, "the endpoints of %s are not known: give armEndpoint in the status of the Infrastructure, or --azure-arm-endpoint", w.cloud)
	}
	return azure{Configuration: c, http: h}, nil
}

// http trusts the system's certificates and those of the bundle. It uses the proxies of the environment.
func (w clusterConfig) http() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 20
	if len(w.ca) > 0 {
		pool, ok := infrastructure.Trusted(w.ca)
		if !ok {
			return nil, provider.Errorf(provider.Invalid, "the bundle of certificates for the cloud has none")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

// mostMetadata is more than the length of any cloud's endpoint metadata, in bytes.
const mostMetadata = 1 << 20

// discover asks a Resource Manager for its login endpoint:
// https://learn.microsoft.com/azure-stack/user/azure-stack-rest-api-use
func discover(ctx context.Context, h *http.Client, endpoint string) (c cloud.Configuration, err error) {
	endpoint = strings.TrimSuffix(endpoint, "/")
	fail := func(err error) (cloud.Configuration, error) {
		return c, fmt.Errorf("ask %s for its endpoints: %w", endpoint, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/metadata/endpoints?api-version=2015-01-01", nil)
	if err != nil {
		return fail(provider.Errorf(provider.Invalid, "%w", err))
	}
	resp, err := h.Do(req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close()
	var says struct {
		Authentication struct {
			LoginEndpoint string   `json:"loginEndpoint"`
			Audiences     []string `json:"audiences"`
		} `json:"authentication"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostMetadata))
	if err != nil {
		return fail(err)
	}
	if err := json.Unmarshal(body, &says); err != nil || says.Authentication.LoginEndpoint == "" || len(says.Authentication.Audiences) == 0 {
		return fail(fmt.Errorf("answer %s is not what a Resource Manager says of itself", resp.Status))
	}
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: says.Authentication.LoginEndpoint,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Audience: says.Authentication.Audiences[0], Endpoint: endpoint},
		},
	}, nil
}
