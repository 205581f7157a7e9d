package cloud

import (
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// credentials are those in a secret of either API.
type credentials struct {
	subscription, tenant, client string
	secret, tokenFile            string
	// group and region are the defaults of specs.
	group, region string
}

// openshiftTokenFile is the path of the service account's token in pods of OpenShift's operators.
const openshiftTokenFile = "/var/run/secrets/openshift/serviceaccount/token" //nolint:gosec // A path, no secret.

// credentialsOf reads every key that the originals read. OpenShift's programs read the environment as well.
func credentialsOf(class provider.Class, getenv func(string) string) (c credentials, err error) {
	first := func(env string, keys ...string) string {
		for _, key := range keys {
			if value := strings.TrimSpace(string(class.Credentials[key])); value != "" {
				return value
			}
		}
		if env == "" || class.API != provider.OpenShift {
			return ""
		}
		return strings.TrimSpace(getenv(env))
	}
	c = credentials{
		subscription: first("", "subscriptionID", "azureSubscriptionId", "azure_subscription_id"),
		tenant:       first("AZURE_TENANT_ID", "tenantID", "azureTenantId", "azure_tenant_id"),
		client:       first("AZURE_CLIENT_ID", "clientID", "azureClientId", "azure_client_id"),
		secret:       first("AZURE_CLIENT_SECRET", "clientSecret", "azureClientSecret", "azure_client_secret"),
		tokenFile:    first("AZURE_FEDERATED_TOKEN_FILE", "workloadIdentityTokenFile", "azure_federated_token_file"),
		group:        first("", "azure_resourcegroup"),
		region:       first("", "azure_region"),
	}
	if class.API == provider.OpenShift {
		if c.secret == "" && c.tokenFile == "" {
			c.tokenFile = openshiftTokenFile
		}
		if c.secret != "" {
			c.tokenFile = "" // the environment may name a file for others
		}
	}
	return c, c.check()
}

func (c credentials) check() error {
	for _, needed := range []struct{ value, spellings string }{
		{c.subscription, "subscription: subscriptionID or azure_subscription_id"},
		{c.tenant, "tenant: tenantID or azure_tenant_id"},
		{c.client, "application: clientID or azure_client_id"},
		{c.secret + c.tokenFile, "secret or token: clientSecret, azure_client_secret, workloadIdentityTokenFile or azure_federated_token_file"},
	} {
		if needed.value == "" {
			return provider.Errorf(provider.Denied, "the credentials name no %s", needed.spellings)
		}
	}
	if c.secret != "" && c.tokenFile != "" {
		return provider.Errorf(provider.Denied, "the credentials have a clientSecret and a workloadIdentityTokenFile: give one of them")
	}
	return nil
}
