package kubeapi

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/millwright-dev/millwright/provider"
)

// KubeconfigKey is the key of the secret that has the kubeconfig.
const KubeconfigKey = "kubeconfig"

// Login is the address of an API server and the credentials for it.
type Login struct {
	Config    *rest.Config
	Namespace string
}

// LoginOf reads the kubeconfig of a class's secret. The kubeconfig may run no program and read no file: a
// user who writes the secret must not control the host of the controller.
func LoginOf(credentials map[string][]byte) (Login, error) {
	raw := credentials[KubeconfigKey]
	if len(raw) == 0 {
		return Login{}, provider.Errorf(provider.Denied, "the secret needs a key %s: the cluster of the infrastructure, and who asks it", KubeconfigKey)
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return Login{}, provider.Errorf(provider.Denied, "the key %s of the secret is no kubeconfig: %w", KubeconfigKey, err)
	}
	current, ok := file.Contexts[file.CurrentContext]
	if !ok {
		return Login{}, provider.Errorf(provider.Denied, "the kubeconfig has no context %q, which it calls the current one", file.CurrentContext)
	}
	if err := contained(file.AuthInfos[current.AuthInfo], file.Clusters[current.Cluster]); err != nil {
		return Login{}, err
	}
	loaded := clientcmd.NewNonInteractiveClientConfig(*file, file.CurrentContext, &clientcmd.ConfigOverrides{}, nil)
	config, err := loaded.ClientConfig()
	if err != nil {
		return Login{}, provider.Errorf(provider.Denied, "the kubeconfig cannot be used: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return Login{}, provider.Errorf(provider.Denied, "the kubeconfig cannot be used: %w", err)
	}
	config.UserAgent = "millwright"
	return Login{Config: config, Namespace: namespace}, nil
}

// contained refuses a kubeconfig that is not self-contained.
func contained(user *api.AuthInfo, cluster *api.Cluster) error {
	if user == nil || cluster == nil {
		return provider.Errorf(provider.Denied, "the current context of the kubeconfig names a cluster or a user that it does not have")
	}
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"exec", user.Exec != nil},
		{"auth-provider", user.AuthProvider != nil},
		{"tokenFile", user.TokenFile != ""},
		{"client-certificate", user.ClientCertificate != ""},
		{"client-key", user.ClientKey != ""},
		{"certificate-authority", cluster.CertificateAuthority != ""},
	} {
		if field.given {
			return provider.Errorf(provider.Denied, "the kubeconfig has %s, which is of another machine: it has to hold the token, or the certificates, as data", field.name)
		}
	}
	return nil
}
