package hollow

import (
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/millwright-dev/millwright/provider"
)

// bootstrap is the used part of user data.
type bootstrap struct{ ca []byte }

// readBootstrap decodes user data. It accepts only a bootstrap kubeconfig: only a real machine could run
// other boot data.
func readBootstrap(userData []byte) (bootstrap, error) {
	refuse := func(why string) (bootstrap, error) {
		return bootstrap{}, provider.InvalidField("userDataSecret",
			"the hollow back end needs user data that is a bootstrap kubeconfig (YAML with a server and a token): %s", why)
	}
	if strings.TrimSpace(string(userData)) == "" {
		return refuse("it is empty")
	}
	config, err := clientcmd.Load(userData)
	if err != nil {
		return refuse(err.Error())
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return refuse("it has no current context")
	}
	cluster, ok := config.Clusters[current.Cluster]
	if !ok || cluster.Server == "" {
		return refuse("its current context names no server")
	}
	user, ok := config.AuthInfos[current.AuthInfo]
	if !ok || user.Token == "" && len(user.ClientCertificateData) == 0 {
		return refuse("its current context has no token")
	}
	return bootstrap{ca: cluster.CertificateAuthorityData}, nil
}
